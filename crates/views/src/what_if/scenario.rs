//! The fitted scenario as a file, with where each value is from.

use super::words::rows;
use slowpath_model::shown;
use slowpath_runs::what_if::{Answer, Predictions};
use slowpath_whatif::scenario::{Setting, Subject, settings};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The text of a scenario file that `slowpath run` takes. `name` is the capture's.
pub fn scenario(answer: &Answer, found: &Predictions, name: &str) -> String {
    let model = &found.found.models[0];
    let mut text = format!(
        "# Fitted by `slowpath what-if` to flow {} of {}.\n# Simulated, it has the captured rate within {:.1} %.\n\n",
        answer.flow.0,
        shown::line(name),
        model.off * 100.0
    );
    let _ = writeln!(text, "title = \"A fitted transfer\"");
    let mut comments: BTreeMap<Subject, String> = BTreeMap::new();
    for (subject, what, value, from) in rows(&model.fitted) {
        let comment = comments.entry(subject).or_default();
        let _ = writeln!(comment, "# {what}: {value}; {from}.");
    }
    comments.insert(Subject::Limit, "# A run ends with its transfer, and is cut off here.\n".to_owned());
    comments.insert(Subject::Costs, "# Assumed: the hosts' CPUs are no limit.\n".to_owned());
    let mut tables: BTreeMap<&str, Vec<&Setting>> = BTreeMap::new();
    let all = settings(&model.fitted, model.control);
    for setting in &all {
        let table = setting.key.rsplit_once('.').map_or("", |(table, _)| table);
        tables.entry(table).or_default().push(setting);
    }
    for (table, own) in tables {
        if !table.is_empty() {
            let _ = writeln!(text, "\n[{table}]");
        }
        for setting in own {
            // Each comment once, where its subject first appears.
            text.push_str(&comments.remove(&setting.subject).unwrap_or_default());
            let key = setting.key.rsplit('.').next().unwrap_or(&setting.key);
            let is_bare = setting.value.parse::<u64>().is_ok() || setting.value.parse::<bool>().is_ok();
            let value = if is_bare { setting.value.clone() } else { format!("\"{}\"", setting.value) };
            let _ = writeln!(text, "{key} = {value}");
        }
    }
    text
}
