//! The screen on a terminal in memory.

use super::*;
use crate::figures::Figures;
use crate::flows::{FlowNow, Numbers, Unit};
use crate::host::HostNow;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use slowpath_live::Process;
use slowpath_model::{End, Endpoint, FlowKey, Wait};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn press(screen: &mut Screen, codes: &[KeyCode]) -> bool {
    codes.iter().any(|code| screen.key(KeyEvent::new(*code, KeyModifiers::NONE)))
}

fn typed(text: &str) -> Vec<KeyCode> {
    text.chars().map(KeyCode::Char).collect()
}

/// The screen as lines.
fn drawn(screen: &mut Screen, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("memory");
    terminal.draw(|frame| screen.draw(frame)).expect("memory takes it");
    let buffer = terminal.backend().buffer();
    let lines = (0..height).map(|y| {
        let line: String = (0..width).map(|x| buffer[(x, y)].symbol()).collect();
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Milliseconds under causes, bytes, and retransmissions.
type Did = (&'static [(Cause, u64)], u64, Option<u64>);

/// A flow from this host to 198.51.100.7, and one within 2001:db8::/32, each with some causes; bytes are of a second.
fn flows<'a>(processes: &'a [Process], second: u32) -> Vec<FlowNow<'a>> {
    let ends: [(&str, u16, &str, u16); 4] = [
        ("198.51.100.7", 51_000, "192.0.2.1", 443),
        ("198.51.100.8", 51_001, "192.0.2.1", 443),
        ("2001:db8:1234:5678:9abc:def0:1234:5678", 40_000, "2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff", 5001),
        ("192.0.2.1", 60_000, "203.0.113.9", 22),
    ];
    let did: [Did; 4] = [
        (&[(Cause::SlowReader, 900), (Cause::SlowStart, 100)], 1_250_000, Some(0)),
        (
            &[(Cause::FastRecovery, 300), (Cause::BottleneckFull, 700)],
            12_500_000 * u64::from(second),
            Some(1234),
        ),
        (&[(Cause::SenderIdle, 1000)], 0, Some(0)),
        (&[], 250, None),
    ];
    let made = ends.into_iter().zip(did).enumerate().map(|(nth, (ends, (causes, bytes, retransmitted)))| {
        let end = |address: &str, port| Endpoint { address: address.parse().expect("an address"), port };
        let mut figures = Figures { bytes, retransmitted, causes: Vec::new() };
        causes.iter().for_each(|(cause, ms)| figures.held(*cause, Duration::from_millis(*ms)));
        FlowNow {
            id: FlowId(nth as u32 + 1),
            key: FlowKey { a: end(ends.0, ends.1), b: end(ends.2, ends.3), occurrence: 0 },
            sender: End::B,
            near: (nth != 2).then_some(if nth == 3 { End::A } else { End::B }),
            process: processes.get(nth),
            cgroup: None,
            figures,
            pending: None,
            numbers: Numbers {
                sender: vec![("RTT", Unit::Micros, 40_000), ("cwnd", Unit::Segments, 10)],
                receiver: vec![("not read yet", Unit::Bytes, 65_536)],
                waits: vec![(Wait::ReceiveQueue, Duration::from_millis(5), SECOND)],
            },
        }
    });
    made.collect()
}

fn host() -> HostNow {
    HostNow { softirq: vec![0.12, 0.001], memory: Some(1.5), accept_overflows: Some(3), pruned: Some(0) }
}

fn process(name: &str) -> Process {
    Process { pid: 7, name: name.to_owned() }
}

/// A screen after five seconds.
fn after_five(by: Option<By>, theme: Theme, unseen: &[&str]) -> Screen {
    let processes = ["nginx", "nginx", "iperf3", "sshd"].map(process);
    let mut screen = Screen::new(by, theme, unseen.iter().map(|what| (*what).to_owned()).collect());
    for second in 1..=5 {
        let (at, flows) = (SECOND * second, flows(&processes, second));
        screen.take(Interval { at, lasted: SECOND, flows, not_kept: 0, host: host() });
    }
    screen
}

#[test]
fn connections_on_a_small_and_a_large_terminal() {
    let mut screen = after_five(None, Theme::default(), &[]);
    insta::assert_snapshot!("connections-80x24", drawn(&mut screen, 80, 24));
    insta::assert_snapshot!("connections-120x40", drawn(&mut screen, 120, 40));
}

#[test]
fn services_are_opened_to_connections_and_causes() {
    let mut screen = after_five(Some(By::Process), Theme::default(), &[]);
    insta::assert_snapshot!("services-80x24", drawn(&mut screen, 80, 24));
    press(&mut screen, &[KeyCode::Enter]);
    let service = drawn(&mut screen, 80, 24);
    assert!(service.contains("198.51.100.7") && service.contains("198.51.100.8"), "{service}");
    assert!(!service.contains("203.0.113.9"), "{service}");
    press(&mut screen, &[KeyCode::Enter]);
    insta::assert_snapshot!("flow-80x24", drawn(&mut screen, 80, 24));
    press(&mut screen, &[KeyCode::Enter]);
    let page = drawn(&mut screen, 80, 24);
    assert!(page.contains("read too slowly") || page.contains("Slow reader"), "{page}");
    press(&mut screen, &typed("jjjj"));
    assert_ne!(drawn(&mut screen, 80, 24), page, "it is scrolled");
    press(&mut screen, &[KeyCode::Esc, KeyCode::Esc, KeyCode::Esc]);
    assert_eq!(
        drawn(&mut screen, 80, 24),
        drawn(&mut after_five(Some(By::Process), Theme::default(), &[]), 80, 24)
    );
}

#[test]
fn help_has_the_letters_and_what_is_not_seen() {
    let mut screen = after_five(None, Theme::default(), &["where data waited", "short connections"]);
    assert!(drawn(&mut screen, 80, 24).contains("Not seen (? for all): where data waited"));
    press(&mut screen, &[KeyCode::Char('?')]);
    insta::assert_snapshot!("help-80x40", drawn(&mut screen, 80, 40));
}

/// Colour adds to the letters: without it, no cell has any.
#[test]
fn letters_carry_what_colours_show() {
    let colours = |colour: bool| {
        let mut screen = after_five(None, Theme { colour }, &[]);
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).expect("memory");
        terminal.draw(|frame| screen.draw(frame)).expect("memory takes it");
        let cells = terminal.backend().buffer().content().to_vec();
        let coloured = cells.iter().filter(|cell| cell.fg != Color::Reset).count();
        (coloured, cells.iter().map(|cell| cell.symbol()).collect::<String>())
    };
    let ((none, plain), (some, coloured)) = (colours(false), colours(true));
    assert_eq!((none, plain), (0, coloured));
    assert!(some >= 25, "bars of three connections: {some}");
}

/// Names of processes come from anybody: no control reaches the terminal, and no name takes another row's room.
#[test]
fn hostile_names_are_text() {
    let names = ["a\x1b[2Jb\n\r\t", "\u{202e}evil\u{2028}", "", "x\u{0}\u{9b}31m"].map(process);
    for by in [None, Some(By::Process)] {
        let mut screen = Screen::new(by, Theme::default(), vec!["x\x1b]0;y\x07".to_owned()]);
        screen.take(Interval {
            at: SECOND,
            lasted: SECOND,
            flows: flows(&names, 1),
            not_kept: 0,
            host: host(),
        });
        for keys in [&[][..], &[KeyCode::Down], &[KeyCode::Enter], &[KeyCode::Enter], &[KeyCode::Char('?')]] {
            press(&mut screen, keys);
            for (width, height) in [(80, 24), (120, 40)] {
                let text = drawn(&mut screen, width, height);
                let controls =
                    text.chars().find(|c| (c.is_control() && *c != '\n') || "\u{202e}\u{2028}".contains(*c));
                assert_eq!(controls, None, "{text:?}");
                assert_eq!(text.split('\n').count(), usize::from(height));
            }
        }
    }
}

/// Any size, down to none, and any sequence of keys: nothing panics.
#[test]
fn every_size_and_key_is_survived() {
    let keys = "jjk\u{1b}?\u{1b}/host\n p/tcp\nhl lhhhhGg";
    for (width, height) in [(1, 1), (3, 2), (10, 5), (20, 3), (39, 8), (80, 6), (300, 90)] {
        for by in [None, Some(By::Port)] {
            let mut screen = Screen::new(by, Theme { colour: true }, Vec::new());
            drawn(&mut screen, width, height);
            press(&mut screen, &[KeyCode::Enter, KeyCode::Left, KeyCode::Down, KeyCode::Char('p')]);
            let mut screen = after_five(by, Theme { colour: true }, &["all"]);
            for key in keys.chars() {
                let code = match key {
                    '\n' => KeyCode::Enter,
                    '\u{1b}' => KeyCode::Esc,
                    key => KeyCode::Char(key),
                };
                assert!(!press(&mut screen, &[code]));
                drawn(&mut screen, width, height);
            }
            for _ in 0..4 {
                press(&mut screen, &[KeyCode::Enter, KeyCode::PageDown]);
                drawn(&mut screen, width, height);
            }
        }
    }
}

/// Rows change their order every second; the selection stays with its connection.
#[test]
fn the_selection_follows_its_connection() {
    let mut screen = after_five(None, Theme::default(), &[]);
    press(&mut screen, &[KeyCode::Down]);
    let selected = |screen: &mut Screen| {
        let text = drawn(screen, 80, 24);
        text.lines().find(|line| line.starts_with('>')).expect("a row is selected").to_owned()
    };
    assert!(selected(&mut screen).contains("198.51.100.8"));
    let processes = ["nginx"; 4].map(process);
    for second in 6..=9 {
        let mut flows = flows(&processes, 1);
        flows[1].figures.held(Cause::Timeout, SECOND * 5);
        screen.take(Interval { at: SECOND * second, lasted: SECOND, flows, not_kept: 0, host: host() });
    }
    assert!(selected(&mut screen).contains("198.51.100.8"), "it is the first now");
    assert_eq!(screen.place(), 0);
}

#[test]
fn pause_and_steps_show_earlier_seconds() {
    let mut screen = after_five(None, Theme::default(), &[]);
    press(&mut screen, &[KeyCode::Char('p')]);
    let paused = drawn(&mut screen, 80, 24);
    assert!(paused.contains("[paused]"), "{paused}");
    screen.take(Interval { at: SECOND * 6, lasted: SECOND, flows: Vec::new(), not_kept: 0, host: host() });
    let later = drawn(&mut screen, 80, 24);
    assert!(later.contains("[1 s ago]"), "{later}");
    let rows = |text: &str| text.split_once('\n').map(|(_, rows)| rows.to_owned());
    assert_eq!(rows(&later), rows(&paused), "what is shown stays");
    press(&mut screen, &[KeyCode::Left, KeyCode::Left]);
    assert!(drawn(&mut screen, 80, 24).contains("[3 s ago]"));
    press(&mut screen, &[KeyCode::Right; 3]);
    assert!(!drawn(&mut screen, 80, 24).contains("ago]"), "it goes on");
}

#[test]
fn a_typed_filter_selects_or_says_why_not() {
    let mut screen = after_five(None, Theme::default(), &[]);
    press(&mut screen, &typed("/port 22q"));
    assert!(drawn(&mut screen, 80, 24).contains("port 22q_"), "letters are no keys while typing");
    press(&mut screen, &[KeyCode::Backspace, KeyCode::Enter]);
    let filtered = drawn(&mut screen, 80, 24);
    assert!(filtered.contains("1 connection of 4 (port 22)") && !filtered.contains(":443"), "{filtered}");
    press(&mut screen, &[KeyCode::Esc]);
    assert!(drawn(&mut screen, 80, 24).contains("4 connections"));
    press(&mut screen, &typed("/nonsense"));
    press(&mut screen, &[KeyCode::Enter]);
    let refused = drawn(&mut screen, 80, 24);
    assert!(refused.contains("filter: ") && refused.contains("4 connections"), "{refused}");
}

#[test]
fn q_and_ctrl_c_end() {
    let mut screen = after_five(None, Theme::default(), &[]);
    assert!(press(&mut screen, &[KeyCode::Char('q')]));
    assert!(screen.key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)));
    press(&mut screen, &[KeyCode::Char('/')]);
    assert!(screen.key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), "while typing too");
}
