//! The probe's report of a run, compared with the same truth: limits by label, and at each time.
//!
//! Ten times a second, the probe reports for how long each limit held a sender, but not in which order. So a sample is
//! right as far as its report can be laid over what held within it. A receiver takes longer to judge, and its whole
//! connection is one sample.

use super::by_time::{ByTime, Judging, SAMPLED_NS, Timed};
use super::held::{self, Held, Moment};
use super::limits::Limits;
use super::right::{Group, column};
use super::run::{Place, Run};
use anyhow::{Context, Result};
use slowpath_analyses::Cause;
use slowpath_analyses::hosts::{Account, Hosts, Why};
use slowpath_lab::run::PROBE;
use slowpath_lab::truth::Connection;
use slowpath_live::Replayed;
use slowpath_model::{End, Event, EventKind, FlowEnd, FlowId, FlowKey, Instant, Sink};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

/// Adds the probe's records of a run at each place, if they were kept and the run can be judged: not one about what a
/// recording lacks, or about the time before a connection is established.
pub fn add(limits: &mut Limits, by_time: &mut ByTime, run: &Run, folder: &Path) -> Result<bool> {
    let path = folder.join(PROBE);
    let group = Group::of(&run.expected.label, &run.truth.path);
    let is_judged = path.exists() && group != Group::Unseen && group != Group::SynLost;
    if !is_judged {
        return Ok(false);
    }
    for place in Place::ALL {
        let Some(told) = replay(&path, place, run.sender()).with_context(|| path.display().to_string())?
        else {
            continue;
        };
        // A receiver cannot know what else held the transfer.
        if place != Place::Receiver || is_receivers_label(run) {
            limits.add(run, place, told.shares(run))?;
        }
        by_time.runs.push(told.judge(run, place)?);
    }
    Ok(true)
}

/// What was reported between two samples.
struct Look {
    flow: FlowId,
    from: Instant,
    to: Instant,
    report: LookReport,
}

enum LookReport {
    /// For how long what held the sender.
    Sender(Vec<(Why, Duration)>),
    /// For how long each cause held the receiver.
    Receiver(Vec<(Cause, Duration)>),
}

/// What one host reported, or both.
struct Records {
    place: Place,
    sender: IpAddr,
    hosts: Hosts,
    /// Which end of a flow is at the sender's host; flows of a warm-up are among them.
    ends: BTreeMap<FlowId, End>,
    looks: Vec<Look>,
    /// Until when the sender's limits were reported.
    until: BTreeMap<FlowId, Instant>,
    /// When the receiver was first and last sampled.
    received: BTreeMap<FlowId, [Instant; 2]>,
}

/// What the probe of a place reported, after the last record was read.
struct Whole {
    place: Place,
    accounts: BTreeMap<FlowId, Account>,
    looks: Vec<Look>,
    epoch_ns: i64,
}

/// The result of the probe's records; `None` if it recorded no event, as when every segment with data was lost.
fn replay(path: &Path, place: Place, sender: IpAddr) -> Result<Option<Whole>> {
    let raw = slowpath_live::open_raw(path)?.context("no records of the probe")?;
    let mut records = Records {
        place,
        sender,
        hosts: Hosts::default(),
        ends: BTreeMap::new(),
        looks: Vec::new(),
        until: BTreeMap::new(),
        received: BTreeMap::new(),
    };
    let Replayed { epoch_ns, incomplete, .. } = slowpath_live::replay(raw, &mut records)?;
    if let Some(error) = incomplete {
        return Err(error.into());
    }
    let Some(epoch_ns) = epoch_ns else { return Ok(None) };
    let Records { hosts, mut looks, ends, received, .. } = records;
    let accounts: BTreeMap<_, _> =
        hosts.finish().0.into_iter().map(|account| (account.id, account)).collect();
    if place == Place::Receiver {
        for (flow, [from, to]) in received {
            let own = &accounts[&flow].ends[(!ends[&flow]).index()];
            let bounds = own.as_ref().map(|own| own.receiving.bounds()).unwrap_or_default();
            let told = bounds.into_iter().map(|bound| (bound.cause, bound.lasted)).collect();
            looks.push(Look { flow, from, to, report: LookReport::Receiver(told) });
        }
    }
    Ok(Some(Whole { place, accounts, looks, epoch_ns }))
}

impl Sink for Records {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        if let Some(end) = End::BOTH.into_iter().find(|end| key.endpoint(*end).address == self.sender) {
            self.ends.insert(flow, end);
            self.hosts.open(flow, key);
        }
    }

    fn accept(&mut self, flow: FlowId, event: &Event) {
        let (Some(sender), Some(end)) = (self.ends.get(&flow).copied(), event.kind.end()) else { return };
        let is_senders = end == sender;
        let is_heard = match self.place {
            Place::Sender => is_senders,
            Place::Receiver => !is_senders,
            Place::Both => true,
        };
        if !is_heard {
            return;
        }
        self.hosts.accept(flow, event);
        match event.kind {
            EventKind::Held { .. } if is_senders => {
                self.until.insert(flow, event.at);
            }
            EventKind::Sampled(_) if is_senders => {
                let account = self.hosts.flow(flow).and_then(|account| account.ends[end.index()].as_deref());
                let held = account.map(|own| own.sending.look().to_vec()).unwrap_or_default();
                let Some(to) = self.until.get(&flow).copied() else { return };
                let from = to - held.iter().map(|(_, lasted)| *lasted).sum();
                self.looks.push(Look { flow, from, to, report: LookReport::Sender(held) });
            }
            EventKind::Sampled(_) => {
                let [from, _] = *self.received.entry(flow).or_insert([event.at; 2]);
                self.received.insert(flow, [from, event.at]);
            }
            _ => {}
        }
    }

    fn close(&mut self, flow: FlowId, end: FlowEnd) {
        self.hosts.close(flow, end);
    }
}

/// The cause of the transfer that a receiver's cause stands for.
const fn cause_of(what: Cause) -> Cause {
    match what {
        Cause::LockHolderOffCpu => Cause::AcksHeldBack,
        Cause::ReaderOffCpu => Cause::SlowReader,
        cause => cause,
    }
}

impl Whole {
    /// The report of a sample, as causes, each with its time.
    fn causes(&self, look: &Look) -> Vec<(Cause, Duration)> {
        let account = &self.accounts[&look.flow];
        match &look.report {
            LookReport::Sender(held) => {
                held.iter().map(|(why, lasted)| (account.cause(*why), *lasted)).collect()
            }
            LookReport::Receiver(held) => {
                held.iter().map(|(what, lasted)| (cause_of(*what), *lasted)).collect()
            }
        }
    }

    /// How the time of all transfers is divided, most first; warm-up transfers do not count.
    fn shares(&self, run: &Run) -> Vec<(Cause, f64)> {
        let mut time: BTreeMap<Cause, Duration> = BTreeMap::new();
        let mut all = Duration::ZERO;
        for account in self.accounts.values().filter(|account| connection(run, account).is_some()) {
            for bound in account.bounds() {
                *time.entry(bound.cause).or_default() += bound.lasted;
                all += bound.lasted;
            }
        }
        let of_receiver = |look: &&Look| {
            let is_told = matches!(look.report, LookReport::Receiver(_));
            is_told && connection(run, &self.accounts[&look.flow]).is_some()
        };
        for look in self.looks.iter().filter(of_receiver) {
            for (cause, lasted) in self.causes(look) {
                *time.entry(cause).or_default() += lasted;
            }
            all += look.to.since(look.from).unwrap_or_default();
        }
        let share = |(cause, lasted): (Cause, Duration)| (cause, lasted.as_secs_f64() / all.as_secs_f64());
        let mut shares: Vec<_> = time.into_iter().map(share).filter(|(_, share)| *share > 0.0).collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        shares
    }

    /// What was reported, at each time.
    fn judge(&self, run: &Run, place: Place) -> Result<Timed> {
        let judging = Judging::of(run, place)?;
        let mut timed = Timed::new(run, place);
        let mut moments: BTreeMap<FlowId, Vec<Moment>> = BTreeMap::new();
        for (flow, account) in &self.accounts {
            if let Some(connection) = connection(run, account) {
                moments.insert(*flow, held::moments(run, connection, place.host()));
            }
        }
        for look in &self.looks {
            let Some(moments) = moments.get(&look.flow) else { continue };
            let at = |at: Instant| (at.nanos() + self.epoch_ns).cast_unsigned();
            let mut held: BTreeMap<Held, f64> = BTreeMap::new();
            for moment in moments {
                let lasted = moment.to_ns.min(at(look.to)).saturating_sub(moment.from_ns.max(at(look.from)));
                *held.entry(moment.held).or_default() += lasted as f64 / 1e9;
            }
            timed.unsettled_s += held.remove(&Held::Unsettled).unwrap_or_default();
            held.retain(|held, seconds| *held != Held::Connecting && *seconds > 0.0);
            let mut said: Vec<(Cause, f64)> = self
                .causes(look)
                .into_iter()
                .map(|(cause, lasted)| (cause, lasted.as_secs_f64() + SAMPLED_NS as f64 / 1e9))
                .collect();
            // It does not report what does not hold a receiver.
            let silent = look.to.since(look.from).unwrap_or_default().as_secs_f64()
                - said.iter().map(|(_, seconds)| seconds).sum::<f64>();
            let mut silent = silent + SAMPLED_NS as f64 / 1e9 * (said.len() + 1) as f64;
            for (held, seconds) in held {
                let mut left = seconds;
                for (cause, said_s) in said.iter_mut().filter(|(cause, _)| judging.fits(held, *cause)) {
                    let right = left.min(*said_s);
                    (*said_s, left) = (*said_s - right, left - right);
                    timed.add(held, column(*cause), right);
                    timed.right_s += right;
                }
                if self.place == Place::Receiver && !is_receivers(held) {
                    let right = left.min(silent.max(0.0));
                    (silent, left) = (silent - right, left - right);
                    timed.add(held, column(Cause::Undetermined), right);
                    timed.right_s += right;
                }
                timed.known_s += seconds;
                if left > 0.0 {
                    let most = said.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(cause, _)| *cause);
                    let counted = most.unwrap_or(Cause::Undetermined);
                    timed.add(held, column(counted), left);
                    *timed.wrong.entry(format!("{held:?} / {counted}")).or_default() += left;
                }
            }
        }
        Ok(timed)
    }
}

fn is_receivers_label(run: &Run) -> bool {
    matches!(run.expected.label.limit.as_str(), "receive-window" | "receiver-processing")
}

/// Whether the receiver's host is the one to report it.
const fn is_receivers(held: Held) -> bool {
    matches!(held, Held::ReceiveWindow | Held::LateReceiver)
}

/// The connection of the account.
fn connection<'a>(run: &'a Run, account: &Account) -> Option<&'a Connection> {
    run.truth.connections.iter().find(|connection| connection.sender_in(&account.key).is_some())
}
