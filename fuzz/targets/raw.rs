//! What the probe is said to have told, from a file: it is read to an end, only flows that are open are told of, and what
//! hosts reported can be summed up.

use slowpath_analyses::hosts::Hosts;
use slowpath_live::replay;
use slowpath_model::{Event, FlowEnd, FlowId, FlowKey, Sink};
use std::collections::HashSet;

#[derive(Default)]
struct Checked {
    open: HashSet<FlowId>,
    hosts: Hosts,
}

impl Sink for Checked {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        assert!(self.open.insert(flow), "{flow} is opened twice");
        self.hosts.open(flow, key);
    }

    fn accept(&mut self, flow: FlowId, event: &Event) {
        assert!(self.open.contains(&flow), "{flow} is not open: {event}");
        self.hosts.accept(flow, event);
    }

    fn close(&mut self, flow: FlowId, end: FlowEnd) {
        assert!(self.open.remove(&flow), "{flow} is not open");
        self.hosts.close(flow, end);
    }
}

pub fn try_input(bytes: &[u8]) {
    let mut checked = Checked::default();
    if replay(bytes, &mut checked).is_ok() {
        assert!(checked.open.is_empty(), "{:?} are not closed", checked.open);
        let (accounts, _) = checked.hosts.finish();
        for account in accounts {
            let _ = (account.bounds(), account.carried(), account.lasted());
        }
    }
}
