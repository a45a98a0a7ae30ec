//! Snapshots of the terminal's text.

use crate::sample;
use slowpath_analyses::Cause;
use slowpath_analyses::report::FlowReport;
use slowpath_model::{Bytes, FlowId};
use slowpath_views::flow_list::FlowRow;
use slowpath_views::headline;
use slowpath_views::rank::Selection;
use slowpath_views::services::{By, Member, Services};
use slowpath_views::terminal::{self, Look};
use slowpath_views::words;
use std::time::Duration;

fn text(selection: Selection, look: &Look) -> String {
    let flows = sample::flows();
    let mut out = Vec::new();
    terminal::diagnosis(&sample::diagnosis(&flows, selection), look, &mut out).expect("memory takes all");
    String::from_utf8(out).expect("text")
}

#[test]
fn diagnosis_in_80_columns() {
    let text = text(Selection { top: Some(2), ..Selection::default() }, &Look::default());
    assert!(
        text.lines().filter(|line| !line.contains("sysctl")).all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert_eq!(text.matches("222 segments were").count(), 1, "evidence of two findings is said once: {text}");
    insta::assert_snapshot!(text);
}

#[test]
fn diagnosis_in_a_narrow_terminal() {
    insta::assert_snapshot!(text(Selection { top: Some(1), ..Selection::default() }, &Look::new(false, 50)));
}

#[test]
fn diagnosis_in_colour() {
    let selection = Selection { flow: Some(FlowId(1)), ..Selection::default() };
    insta::assert_snapshot!(text(selection, &Look::new(true, 100)).replace('\x1b', "␛"));
}

/// With many flows, each of the columns is there in 80 columns and in colour, and names have lines of their own where there
/// is no room.
#[test]
fn services_as_a_table() {
    let flows = sample::flows();
    for width in [50, 80, 120, 160] {
        let mut services = Services::new(By::Service);
        flows.iter().for_each(|flow| services.add(&Member::of(flow, 0, 0)));
        let mut out = Vec::new();
        terminal::services(&services.listed(), &[], 2, &Look::new(width == 120, width), &mut out)
            .expect("memory takes all");
        let text = String::from_utf8(out).expect("text");
        assert!(width == 120 || text.lines().all(|line| line.chars().count() <= width), "{text}");
        insta::assert_snapshot!(format!("services_{width}"), text.replace('\x1b', "␛"));
    }
}

#[test]
fn headline_covers_the_time_of_the_transfer() {
    let flow = sample::left_open();
    assert_eq!(flow.main().findings[0].cause, Cause::SenderIdle, "it took most of all time");
    assert_eq!(headline::main_finding(&flow).map(|finding| finding.cause), Some(Cause::SlowReader));
    assert_eq!(
        words::verdict(&flow),
        "8 % of that time: receive window, the receiving application read too slowly. Another 89 %, most of it before or \
         after the transfer: the sending application had nothing to send."
    );
}

/// Two causes of one limit took longer than the largest single cause, which is of another.
#[test]
fn headline_is_of_the_largest_limit_and_says_how_much_its_largest_cause_is() {
    let mut flow = sample::left_open();
    let says = |flow: &mut FlowReport, causes: [Cause; 3]| {
        let findings = &mut flow.directions[flow.sender as usize].findings;
        for (finding, (cause, percent)) in findings.iter_mut().zip(causes.into_iter().zip([41, 37, 20u8])) {
            finding.cause = cause;
            finding.share = f64::from(percent) / 100.0;
            finding.lasted = Duration::from_millis(percent.into());
        }
        words::verdict(flow)
    };
    flow.directions[flow.sender as usize].findings.truncate(3);
    let slow_start = says(&mut flow, [Cause::BottleneckFull, Cause::SlowStart, Cause::AfterLoss]);
    assert!(
        slow_start.starts_with("57 % of that time: congestion window (37 % slow start)."),
        "{slow_start}"
    );
    let stuck = says(&mut flow, [Cause::BottleneckFull, Cause::EarlyExit, Cause::AfterLoss]);
    assert!(
        stuck.starts_with("57 % of that time: congestion window (37 % stuck below the path rate)."),
        "{stuck}"
    );
}

#[test]
fn full_path_is_the_good_case_unless_it_loses_much() {
    for (lost, says) in [
        (1, "This is the good case: the path was used."),
        (5, "The path was used, but 5 % of the segments were lost."),
    ] {
        let mut flow = sample::left_open();
        let from = flow.sender as usize;
        let sent = &mut flow.directions[from];
        sent.findings[0].cause = Cause::BottleneckFull;
        sent.measures.data_packets = 100;
        sent.measures.labels.retransmission = lost;
        assert!(words::verdict(&flow).contains(says), "{}", words::verdict(&flow));
    }
}

#[test]
fn small_flows_can_be_left_out() {
    let selection = Selection { min_bytes: Bytes::kib(100), top: Some(0), ..Selection::default() };
    insta::assert_snapshot!(text(selection, &Look::default()));
}

#[test]
fn flows_as_a_table_and_in_full() {
    let flows = sample::flows();
    let rows: Vec<_> = flows.iter().take(4).map(FlowRow::of).collect();
    for width in [50, 80, 140] {
        let mut out = Vec::new();
        terminal::flows_table(&rows, None, &Look::new(false, width), &mut out).expect("memory takes all");
        insta::assert_snapshot!(format!("flows_{width}"), String::from_utf8(out).expect("text"));
    }
    for width in [50, 80, 180] {
        let mut out = Vec::new();
        let epoch = Some(1_795_923_145_123_000_000);
        terminal::flows_table(&rows, epoch, &Look::new(false, width), &mut out).expect("memory takes all");
        insta::assert_snapshot!(format!("flows_with_date_{width}"), String::from_utf8(out).expect("text"));
    }
    let mut out = Vec::new();
    terminal::flow_long(&flows[2], &Look::default(), &mut out).expect("memory takes all");
    insta::assert_snapshot!("flows_long", String::from_utf8(out).expect("text"));
}

#[test]
fn catalogue_of_causes() {
    let mut out = Vec::new();
    terminal::cause_catalogue(&Look::default(), &mut out).expect("memory takes all");
    insta::assert_snapshot!(String::from_utf8(out).expect("text"));
}
