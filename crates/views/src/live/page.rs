//! The page of `slowpath diagnose --live --html`: this host's connections, as its kernel reported them.

use super::sender;
use super::spells::SpellResult;
use super::text::place;
use crate::flow_line::Line;
use crate::json::Advice;
use crate::page::{self, FindingData, FlowData, FlowLines, Page, RecordingText, Spells};
use crate::quantity::{count, counted, duration, share};
use crate::{waits, words};
use slowpath_analyses::Cause;
use slowpath_analyses::hosts::{Account, Bound, EndAccount};
use slowpath_model::{End, Instant, Rate, nanos, shown};
use slowpath_remedies::advise_on_host;
use slowpath_runs::watch::Watched;
use std::io;
use std::time::Duration;

/// The most connections that a page shows in full.
const IN_FULL: usize = 50;

/// The page, as HTML.
///
/// # Errors
///
/// None that is known: the data is plain.
pub fn html(watched: &Watched) -> io::Result<Vec<u8>> {
    page::html(&page_data(watched)).map(String::into_bytes)
}

fn page_data(watched: &Watched) -> Page {
    let accounts = &watched.accounts;
    let began = accounts.iter().filter_map(|account| account.told).map(|[first, _]| first).min();
    let mut in_full: Vec<_> = accounts.iter().collect();
    in_full.sort_by_key(|account| std::cmp::Reverse((lost(account), account.carried())));
    in_full.truncate(IN_FULL);
    let flows: Vec<_> = in_full.iter().map(|account| flow(watched, account, began)).collect();
    let is_shown = |cause: Cause| {
        in_full.iter().any(|account| all_bounds(account).iter().any(|bound| bound.cause == cause))
    };
    let lines: Vec<_> = accounts.iter().map(|account| line(account, began)).collect();
    let unseen = watched.unseen.iter().map(|what| format!("Not seen here: {}.", shown::line(what)));
    let mut warnings: Vec<_> =
        watched.incomplete.iter().map(|why| format!("Incomplete: {}", shown::line(why))).collect();
    if watched.not_kept > 0 {
        warnings
            .push(format!("{} connections exceeded the limit and are not shown.", count(watched.not_kept)));
    }
    let facts =
        format!("watched for {}, {}", duration(watched.lasted), counted(accounts.len() as u64, "connection"));
    Page {
        schema: page::SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        title: "This host's connections".to_owned(),
        command: None,
        recordings: vec![RecordingText {
            name: "This host's connections".to_owned(),
            began: None,
            facts,
            warnings,
            notes: unseen.collect(),
        }],
        limits: page::limits(),
        causes: page::causes(is_shown),
        labels: Vec::new(),
        flow_count: accounts.len() as u64,
        flows,
        lines: FlowLines::of(&lines),
        remarks: Vec::new(),
    }
}

fn lost(account: &Account) -> Duration {
    account.bounds().iter().filter(|bound| bound.cause.is_loss()).map(|bound| bound.lasted).sum()
}

/// What limited the sender, and then what limited the receiver.
fn all_bounds(account: &Account) -> Vec<Bound> {
    account.bounds().into_iter().chain(receiver_bounds(account)).collect()
}

fn receiver_bounds(account: &Account) -> Vec<Bound> {
    let receiver = account.ends[(!account.sender()).index()].as_deref();
    receiver.map(|own| own.receiving.bounds()).unwrap_or_default()
}

/// When a connection was first seen, on the clock of the page.
fn first_seen(account: &Account, began: Option<Instant>) -> Instant {
    let since = account.told.zip(began).and_then(|([first, _], began)| first.since(began));
    Instant::START + since.unwrap_or_default()
}

fn retransmitted(own: Option<&EndAccount>) -> u64 {
    own.and_then(|own| own.samples).and_then(|[_, last]| last.total_retrans).unwrap_or(0).into()
}

fn line(account: &Account, began: Option<Instant>) -> Line {
    let sender = account.sender();
    Line {
        id: account.id,
        key: account.key,
        sender,
        bytes: account.carried(),
        first: first_seen(account, began),
        lasted: account.lasted(),
        lost: lost(account),
        retransmitted: retransmitted(account.ends[sender.index()].as_deref()),
        main: account.bounds().first().map(|bound| (bound.cause, bound.share)),
    }
}

fn flow(watched: &Watched, account: &Account, began: Option<Instant>) -> FlowData {
    let sender = account.sender();
    let place = |end| place(watched, account, end);
    let rate = Rate::of(account.carried(), account.lasted()).filter(|rate| rate.get() > 0);
    let rate = rate.map_or(String::new(), |rate| format!(" ({rate})"));
    let first = first_seen(account, began);
    let results = SpellResult::all(account);
    FlowData {
        flow: account.id.0,
        ends: format!("{} → {}", place(sender), place(!sender)),
        moved: format!("moved {} in {}{rate}", account.carried(), duration(account.lasted())),
        verdict: verdict(account),
        verdict_in_short: String::new(),
        ending: None,
        first_ns: first.nanos(),
        last_ns: (first + account.lasted()).nanos(),
        lost_ns: nanos(lost(account)),
        spells: Spells {
            lasted_ns: results.iter().map(SpellResult::lasted_ns).collect(),
            cause: results.iter().map(|spell| spell.held_by().map_or(-1, page::place)).collect(),
            merged: false,
        },
        findings: findings(watched, account),
        repetition: None,
        vantage: "As the kernel of this host reported it, event by event.".to_owned(),
        on_the_way: Vec::new(),
        blind_spots: match &account.ends[sender.index()] {
            Some(_) => Vec::new(),
            None => vec!["The sender is on another host, so its limits cannot be seen here.".to_owned()],
        },
        measures: measures(account),
        show: None,
        show_other: None,
        other_end: None,
        stalls: Vec::new(),
        picture: None,
        queueing: None,
    }
}

fn verdict(account: &Account) -> String {
    match account.bounds().as_slice() {
        [] => "The sender is on another host.".to_owned(),
        [first, others @ ..] => {
            let second = others.first().filter(|second| second.share >= words::WORTH_A_SENTENCE);
            let second = second.map_or(String::new(), |second| {
                format!(" Another {}: {}.", share(second.share), words::named(second.cause))
            });
            format!(
                "{} of that time: {}.{second}",
                words::capital_share(first.share),
                words::named(first.cause)
            )
        }
    }
}

fn findings(watched: &Watched, account: &Account) -> Vec<FindingData> {
    let finding = |bound: &Bound,
                   of: &str,
                   evidence: Vec<String>,
                   advice: Option<slowpath_remedies::Advice>| FindingData {
        cause: page::place(bound.cause),
        share: bound.share,
        amount: format!("{}{of}, {}", share(bound.share), duration(bound.lasted)),
        confidence: "",
        evidence,
        instants_ns: Vec::new(),
        advice: advice.into_iter().map(Advice::of).collect(),
    };
    let mut all: Vec<_> = account
        .bounds()
        .iter()
        .map(|bound| {
            let evidence = account.evidence(bound.cause);
            let sentences = evidence.iter().map(|fact| words::sentence(&words::evidence(fact))).collect();
            let advice = sender::advice(bound, &evidence, sender::device(watched, account));
            finding(bound, "", sentences, advice)
        })
        .collect();
    for bound in receiver_bounds(account) {
        let of = " of the time in which data arrived or waited at the receiver";
        all.push(finding(&bound, of, Vec::new(), advise_on_host(bound.cause)));
    }
    all
}

fn measures(account: &Account) -> Vec<(String, String)> {
    let mut all = vec![("data".to_owned(), account.carried().to_string())];
    let sender = account.sender();
    if let Some(own) = account.ends[sender.index()].as_deref() {
        if let Some([_, last]) = own.samples {
            let time = |us: Option<u32>| {
                us.map_or_else(|| "-".to_owned(), |us| duration(Duration::from_micros(us.into())))
            };
            all.push(("smoothed RTT, last".to_owned(), time(last.srtt)));
            all.push(("minimum RTT".to_owned(), time(last.min_rtt)));
            all.push((
                "congestion window, last".to_owned(),
                counted(last.snd_cwnd.unwrap_or(0).into(), "segment"),
            ));
        }
        all.push(("retransmitted".to_owned(), count(retransmitted(Some(own)))));
        all.push(("retransmission timeouts".to_owned(), count(own.timeouts[0])));
    }
    for end in End::BOTH {
        let Some(own) = account.ends[end.index()].as_deref() else { continue };
        let name = if end == sender { "sender" } else { "receiver" };
        if own.zero_windows > 0 {
            all.push((format!("window of the {name} closed"), counted(own.zero_windows, "time")));
        }
        for spread in own.waits.spreads() {
            let text = format!("{}, at most {}", duration(spread.median), duration(spread.longest));
            all.push((format!("{name}: {} (median)", waits::words(spread.on)), text));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_analyses::hosts::Hosts;
    use slowpath_live::Process;
    use slowpath_model::{Endpoint, FlowId, FlowKey, Sink};

    #[test]
    fn a_page_has_what_limited_each_connection() {
        let mut hosts = Hosts::default();
        let endpoint = |last, port| Endpoint { address: [192, 0, 2, last].into(), port };
        hosts.open(FlowId(1), &FlowKey { a: endpoint(1, 40_000), b: endpoint(2, 80), occurrence: 0 });
        let lines = [
            "0.1 A wrote 100000",
            "0.1 A held slow-start 0.080",
            "0.1 A sampled srtt 20100 min_rtt 20000",
            "0.2 A held paced 0.100",
            "0.2 A sampled srtt 20100 min_rtt 20000 max_pacing_rate 2500000",
            "0.25 B sampled rcv_wnd 65536",
        ];
        for line in lines {
            hosts.accept(FlowId(1), &line.parse().unwrap_or_else(|error| panic!("{line}: {error}")));
        }
        let mut watched = Watched { accounts: hosts.finish().0, ..Watched::default() };
        let process = Process { pid: 7, name: "</script>\u{1b}".into() };
        watched.processes.insert((FlowId(1), End::A), process);
        let data = page_data(&watched);
        let flow = &data.flows[0];
        assert_eq!(flow.ends, "192.0.2.1:40000 (</script>\\u{1b}, 7) → 192.0.2.2:80");
        assert_eq!(
            flow.verdict,
            "56 % of that time: shaper or pacing limit on the sending host. Another 44 %: congestion window, slow start."
        );
        assert_eq!(
            flow.spells.cause,
            [page::place(Cause::SlowStart), page::place(Cause::LocalRateLimit), -1]
        );
        assert_eq!(flow.spells.lasted_ns, [80_000_000, 100_000_000, 50_000_000]);
        let html = String::from_utf8(html(&watched).expect("plain data")).expect("text");
        assert!(html.contains("(\\u003c/script>\\\\u{1b}, 7)"), "a name is text");
    }
}
