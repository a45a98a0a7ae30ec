//! The causes that a verdict can name.

use schemars::JsonSchema;
use serde::Serialize;
use slowpath_analyses::Cause;

/// What `slowpath causes --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/causes/1")]
pub struct Causes {
    /// `slowpath/causes/1`.
    schema: &'static str,
    /// The causes, by limit.
    causes: Vec<CauseEntry>,
}

/// One cause.
#[derive(Serialize, JsonSchema)]
pub struct CauseEntry {
    /// Its name: the limit, a slash and the specific cause.
    cause: String,
    /// The limit alone.
    limit: &'static str,
    /// Its title, for people.
    title: &'static str,
    /// Whether its time could be recovered.
    is_loss: bool,
    /// What can report it: `capture`, `live`, `doctor`.
    reported_by: Vec<&'static str>,
    /// Its page in the handbook, below `docs/src`.
    page: &'static str,
    /// The text of that page, as Markdown.
    text: &'static str,
}

impl Causes {
    /// The given `causes`, with the handbook's text on each.
    pub fn of(causes: &[Cause], text: impl Fn(Cause) -> &'static str) -> Self {
        let entry = |cause: &Cause| CauseEntry {
            cause: cause.to_string(),
            limit: cause.limit().slug(),
            title: cause.title(),
            is_loss: cause.is_loss(),
            page: cause.page(),
            reported_by: cause.reported_by().iter().map(|by| by.slug()).collect(),
            text: text(*cause),
        };
        Self { schema: "slowpath/causes/1", causes: causes.iter().map(entry).collect() }
    }
}
