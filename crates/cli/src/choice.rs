//! Arguments that several commands share: which flows, where a capture was made, hosts.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use slowpath_analyses::VantageOverride;
use slowpath_lab::host::Host;
use slowpath_model::{Bytes, FlowId};
use slowpath_runs::{filter::Filter, values::flow_id};
use slowpath_views::{help, rank::Selection, services::By};

/// Which flows.
#[derive(Args)]
pub struct Choice {
    /// Only the flow with this number, as the verdict and `slowpath flows` print it
    #[arg(long, value_name = "N", value_parser = flow_id)]
    pub flow: Option<FlowId>,
    /// Only flows that carried at least this much in one direction, such as "1 MiB"
    #[arg(long, value_name = "AMOUNT", default_value = "0 B")]
    pub min_bytes: Bytes,
    /// Only flows that this expression selects, in tcpdump's words, such as 'host 192.0.2.1 and port 443'
    #[arg(long, value_name = "EXPRESSION")]
    pub filter: Option<Filter>,
}

impl Choice {
    pub fn selection(&self, top: Option<usize>, by: By) -> Selection {
        Selection { flow: self.flow, min_bytes: self.min_bytes, filter: self.filter.clone(), top, by }
    }
}

/// Where a capture was made.
pub fn places() -> impl TypedValueParser<Value = VantageOverride> {
    described(help::PLACES)
}

/// One of `all`, each with its name and what it is.
pub fn described<T: Clone + Send + Sync + 'static, const N: usize>(
    all: [(T, &'static str, &'static str); N],
) -> impl TypedValueParser<Value = T> {
    let names = all.iter().map(|(_, name, what)| PossibleValue::new(*name).help(*what)).collect::<Vec<_>>();
    PossibleValuesParser::new(names).try_map(move |text| {
        let found = all.iter().find(|(_, name, _)| *name == text);
        found.map(|(value, ..)| value.clone()).ok_or("no such name")
    })
}

/// One of `all` by its name.
pub fn keys<T: Copy + Send + Sync + 'static, const N: usize>(
    all: [T; N],
    name: impl Fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    named(all.map(|one| (one, name(one).to_owned(), None)))
}

/// One of `all`, each with its name and a shorter one that serves too.
pub fn named<T: Clone + Send + Sync + 'static>(
    all: impl IntoIterator<Item = (T, String, Option<String>)>,
) -> impl TypedValueParser<Value = T> {
    let all: Vec<_> = all.into_iter().collect();
    let names = all.iter().map(|(_, name, short)| PossibleValue::new(name.clone()).aliases(short.clone()));
    PossibleValuesParser::new(names).try_map(move |text| {
        let found = all.iter().find(|(_, name, short)| *name == text || short.as_ref() == Some(&text));
        found.map(|(value, _, _)| value.clone()).ok_or("no such name")
    })
}

/// A host of the lab, by what it does in a scenario's first flow.
pub fn ends() -> impl TypedValueParser<Value = Host> {
    named([(Host::Sender, "sender".to_owned(), None), (Host::Receiver, "receiver".to_owned(), None)])
}
