//! Valid and invalid scripts.

use crate::config::{Config, IpVersion};
use crate::packet::{Body, ClassSpec, Echoed, TcpOption};
use crate::script::{Action, Event, Expr, Script, When};
use crate::source::Source;
use slowpath_model::Flags;
use std::time::Duration;

fn script(text: &str) -> Script {
    Script::parse(&Source::new("t.pkt", text), &Config::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn one(text: &str) -> Event {
    let events = script(&format!("0 `true`\n{text}")).events;
    assert_eq!(events.len(), 2, "{text}");
    events.into_iter().next_back().unwrap()
}

fn refused(text: &str) -> String {
    let source = Source::new("t.pkt", text);
    Script::parse(&source, &Config::default()).expect_err(text).to_string()
}

fn segment(event: &Event) -> &crate::packet::Segment {
    let (Action::Inject(packet) | Action::Expect(packet)) = &event.action else { panic!("{event:?}") };
    let Body::Tcp(segment) = &packet.body else { panic!("{event:?}") };
    segment
}

#[test]
fn event_times_are_parsed() {
    let ms = Duration::from_millis;
    let when = |time: &str| one(&format!("{time} > . 1:1(0) ack 1")).when;
    assert_eq!(when(".1"), When::At(ms(100)));
    assert_eq!(when("+.1"), When::After(ms(100)));
    assert_eq!(when("1~1.5"), When::Between(ms(1000), ms(1500)));
    assert_eq!(when("+0~+.2"), When::AfterBetween(ms(0), ms(200)));
    assert_eq!(when("*"), When::Any);
    let Action::Call(call) = one("+0...0.200 accept(3, ..., ...) = 4").action else { panic!() };
    assert_eq!(call.returns, Some(ms(200)));
}

#[test]
fn options_and_definitions_are_parsed() {
    let text =
        "--ip_version=ipv6 --local_ip=fd00::1\n--define=PORT=\"x\"\n--tolerance_usecs=10000\n0 `PORT`\n";
    let config = script(text).config;
    assert_eq!(config.ip_version, IpVersion::V6);
    assert_eq!(config.local, Some("fd00::1".parse().unwrap()));
    assert_eq!(config.tolerance, Duration::from_millis(10));
    let event = one("+0 > S 0:0(0) win 1 <FO TFO_COOKIE,nop,nop>");
    assert_eq!(
        segment(&event).options[0],
        TcpOption::FastOpen(vec![0x30, 0x21, 0xb9, 0xd8, 0x89, 0x01, 0x7e, 0xeb])
    );
    // One that begins with a letter could be a name.
    let events = script("--ip_version=ipv6\n0 > S 0:0(0) win 1 <FO TFO_COOKIE,nop,nop>").events;
    assert_eq!(
        segment(&events[0]).options[0],
        TcpOption::FastOpen(vec![0xc1, 0xd1, 0xe9, 0x74, 0x2a, 0x47, 0xa9, 0xbc])
    );
    let event = one("+0 > S 0:0(0) win 1 <FO 0123456789abcdef,nop,nop>");
    assert_eq!(segment(&event).options[0], TcpOption::FastOpen((0..8).map(|i| i * 0x22 + 1).collect()));
}

#[test]
fn segments_are_parsed() {
    let event = one("+0 < FSRPUEWA. 1:1001(1000) ack 7 win 257 urg 5 <mss 1460,sackOK,wscale 7,nop,nop,nop>");
    let tcp = segment(&event);
    assert_eq!((tcp.seq, tcp.len, tcp.ack, tcp.window, tcp.urgent), (1, 1000, 7, 257, 5));
    assert_eq!(tcp.flags, Flags(0x1ff));
    let event = one("+0 > .5 1:1(0) ack 1 <nop,nop,sack 1:2 3:4>");
    let Action::Expect(packet) = &event.action else { panic!() };
    assert!(packet.any.ace && packet.any.window && !packet.any.options);
    assert_eq!(segment(&event).ace(), 5 & 7);
    assert_eq!(segment(&event).options[2], TcpOption::Sack(vec![(1, 2), (3, 4)]));
    let event = one("+0 > [ect01] P. 1:1(0) ack 1 <...>");
    let Action::Expect(packet) = &event.action else { panic!() };
    assert_eq!(packet.ip.class, ClassSpec::Ect01);
    assert!(packet.any.options);
    assert_eq!(segment(&one("+0 > - 1:1(0)")).flags, Flags::default());
    let Action::Inject(packet) = one("+0 < [tos 0x2e] 5 > 6 S 0:0(0) win 1").action else { panic!() };
    assert_eq!((packet.ip.class, packet.ports), (ClassSpec::Whole(0x2e), Some((5, 6))));
    segment(&one("+0 > .4 1:1(0) ack 1 <ECN e1b 1 ceb 0 e0b 1,nop>"));
    segment(&one("+0 < ipv4 192.0.2.1 > 192.168.0.1: gre: S 0:0(0) win 1"));
}

#[test]
fn icmp_messages_are_parsed() {
    let Action::Inject(packet) = one("+0 < icmp unreachable frag_needed mtu 1200 [1:1001(1000)]").action
    else {
        panic!()
    };
    let Body::Icmp(icmp) = packet.body else { panic!() };
    assert_eq!((icmp.kind, icmp.code, icmp.mtu), (3, 4, Some(1200)));
    assert_eq!(icmp.echoed, Echoed::Tcp { seq: 1, len: 1000 });
    let Action::Expect(packet) = one("+0 > udp (100)").action else { panic!() };
    assert_eq!(packet.body, Body::Udp { len: 100 });
}

#[test]
fn calls_are_parsed_with_their_results() {
    let Action::Call(call) =
        one("+0 recvmsg(4, {msg_name(...)=..., msg_iov(1)=[{..., 1000}], msg_flags=MSG_TRUNC|MSG_EOR,
                       msg_control=[{cmsg_level=SOL_TCP, cmsg_type=TCP_CM_INQ, cmsg_data=0}]}, 0) = 1000")
        .action
    else {
        panic!()
    };
    assert_eq!(call.arguments.len(), 3);
    let Expr::Struct(fields) = &call.arguments[1] else { panic!() };
    assert_eq!(fields.len(), 4);
    assert!(matches!(&fields[1], Expr::Apply(name, _, Some(_)) if name == "msg_iov"));
    let Action::Call(call) = one("+0 read(4, ..., 10) = -1 EAGAIN (Resource temporarily unavailable)").action
    else {
        panic!()
    };
    assert_eq!((call.result, call.errno.as_deref()), (Expr::Integer(-1), Some("EAGAIN")));
    let Action::Call(call) =
        one(r#"+0 setsockopt(3, SOL_TCP, TCP_CONGESTION, "re" "no", 4) = 0 // comment"#).action
    else {
        panic!()
    };
    assert_eq!(call.arguments[3], Expr::Text(b"reno".to_vec()));
}

#[test]
fn commands_come_first_or_last_or_have_a_time() {
    let script = script("`a`\n0 `b`\n+1 `c`\n`d`");
    let whens: Vec<When> = script.events.iter().map(|event| event.when).collect();
    assert_eq!((whens[0], whens[3]), (When::Outside, When::Outside));
}

#[test]
fn errors_have_place_reason_and_hint() {
    assert_eq!(
        refused("0 > Q 1:1(0)\n"),
        "t.pkt:1:5: Q is not a flag of TCP\n 1 | 0 > Q 1:1(0)\n   |     ^ flags are S F R P U E W A and . for ACK"
    );
    for (text, part) in [
        ("0 > . 1:5(1) ack 1", "write 1:2(1)"),
        ("0 < . 1:1(0) ack 1", "write win and a number"),
        ("0 < . 1:1(0) ack 1 win 70000", "between 0 and 65535"),
        ("0 < . 1:1(0) ack 1 win 1 <...>", "expected"),
        ("0 < . 1:1(0) ack 1 win 1 <sackOK>", "add nop"),
        ("0 < [ect01] . 1:1(0) ack 1 win 1", "write [ect0]"),
        ("* socket(..., SOCK_STREAM, IPPROTO_TCP) = 3", "for packets that are expected"),
        ("1 `true`", "write 0"),
        ("0 > . 1:1(0) ack", "ends where"),
        ("0 socket(..., SOCK_STREAM", "the script ends"),
        ("--colour=red", "no option --colour"),
        ("0 `a`\n`b`\n0 `c`", "has a time"),
        ("0 > . 2~1", "between first and end"),
        ("0 `a`\n2~1 > . 1:1(0)", "ends before it begins"),
        ("0 > . 1:1(0) ack 1 <FO abc,nop>", "two digits"),
        ("0 < icmp unreachable nowhere", "codes are"),
    ] {
        let error = refused(text);
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn deep_nesting_is_refused() {
    let text = format!("0 x({} = 0", "[".repeat(100_000));
    assert!(refused(&text).contains("too deeply"));
    let text = format!("0 x([{}1]) = 0", "a=".repeat(100_000));
    assert!(refused(&text).contains("too deeply"));
}
