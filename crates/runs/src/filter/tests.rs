//! Filters select what tcpdump would select of each flow's first packet.

use super::parse::{DEEPEST, LONGEST};
use super::{Filter, FilterError};
use proptest::prelude::*;
use slowpath_model::{Endpoint, FlowKey};
use std::net::IpAddr;

fn flow(a: &str, a_port: u16, b: &str, b_port: u16) -> FlowKey {
    let end = |address: &str, port| Endpoint { address: address.parse().expect("an address"), port };
    FlowKey { a: end(a, a_port), b: end(b, b_port), occurrence: 0 }
}

fn error(text: &str) -> FilterError {
    text.parse::<Filter>().expect_err(text)
}

#[test]
fn expressions_select_flows() {
    let four = flow("10.0.0.1", 40_000, "192.0.2.9", 443);
    let six = flow("2001:db8::1", 50_000, "2001:db8:1::2", 8080);
    for (text, of_four, of_six) in [
        ("host 10.0.0.1", true, false),
        ("10.0.0.1", true, false),
        ("src host 192.0.2.9", false, false),
        ("dst 192.0.2.9 and dst port 443", true, false),
        ("src or dst host 192.0.2.9", true, false),
        ("src and dst net 2001:db8::/32", false, true),
        ("dst and src port 443", false, false),
        ("net 10", true, false),
        ("net 10.0.0.0/8 or 2001:db8:1::/48", true, true),
        ("net 192.0.2", true, false),
        ("net 192.0.0.0 mask 255.255.0.0", true, false),
        ("net 0.0.0.0/0", true, false),
        ("net ::/0", false, true),
        ("ip", true, false),
        ("ip6", false, true),
        ("tcp", true, true),
        ("tcp port 80 or 443 or 8080", true, true),
        ("ip6 dst portrange 8000-8999", false, true),
        ("port (80 or 443)", true, false),
        ("tcp and not (port 443 or port 80)", false, true),
        ("!port 443&&ip6||host 10.0.0.1", true, true),
        // As in tcpdump: from left to right, so this is (port 443 or ip6) and ip6.
        ("port 443 or ip6 and ip6", false, true),
        ("not port 443 or ip", true, true),
    ] {
        let filter: Filter = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!((filter.takes(&four), filter.takes(&six)), (of_four, of_six), "{text}");
        assert_eq!(filter.to_string(), text);
    }
}

#[test]
fn errors_name_the_position_and_the_fix() {
    for (text, says) in [
        ("", "at character 1: the expression ends here; write such as host 192.0.2.1 and port 443"),
        ("host 10.0.0.300", "at character 6: \"10.0.0.300\" is not an address; write one such as 192.0.2.1"),
        ("host example.org", "at character 6: \"example.org\" is not an address"),
        ("host 10.0.0.1:443", "at character 6: write host 10.0.0.1 and port 443"),
        ("host 10.0.0.0/8", "at character 6: 10.0.0.0/8 is a network; write net 10.0.0.0/8"),
        (
            "net 10.0.0.1/8",
            "at character 5: 10.0.0.1 has bits beyond the prefix; write 10.0.0.0 in its place, or host",
        ),
        ("net 10.0.0.0/33", "at character 5: \"33\" is not a prefix length; write one from 0 to 32"),
        ("net 1.2.3.4.5", "at character 5: \"1.2.3.4.5\" is not an address"),
        ("port https", "at character 6: \"https\" is not a port; write a number from 0 to 65535"),
        ("port 80-90", "at character 6: write portrange 80-90"),
        ("port", "at character 5: write a port such as 443 here"),
        ("port 80 or https", "at character 12: \"https\" is neither a port nor a keyword"),
        ("portrange 90-80", "at character 11: the first port is above the last; write 80-90"),
        ("80", "at character 1: write port 80"),
        ("ip6 host 10.0.0.1", "at character 10: this is an IPv4 address after ip6; remove ip6"),
        ("(port 80", "at character 1: this ( is not closed"),
        ("port 80)", "at character 8: this ) has no ( before it"),
        ("port 80 host 10.0.0.1", "at character 9: write and, or or ) before \"host\""),
        ("port 80 and", "at character 12: the expression ends here"),
        ("and port 80", "at character 1: write an expression before and"),
        ("udp port 53", "at character 1: udp is not TCP"),
        ("é less 100", "at character 1: \"é\" does not select connections; write host, net, port, portrange"),
        ("tcp[13] = 2", "at character 1: \"tcp[13]\" does not select connections"),
    ] {
        let error = error(text).to_string();
        assert!(error.starts_with(says), "{text}: {error}");
    }
}

#[test]
fn length_and_depth_are_bounded() {
    let deep = |depth: usize| format!("{}port 80{}", "(".repeat(depth), ")".repeat(depth));
    assert!(deep(DEEPEST).parse::<Filter>().is_ok());
    assert_eq!(error(&deep(LONGEST / 3)).at, DEEPEST + 2);
    assert!(error(&format!("{}port 80", "not ".repeat(10_000))).to_string().contains("write fewer"));
    assert!(error(&"x".repeat(LONGEST + 1)).to_string().contains("write a shorter expression"));
    assert!(error(&"x".repeat(LONGEST)).to_string().len() < 300);
    // A long chain is neither deep nor slow.
    let chain = vec!["port 80"; LONGEST / 11].join(" or ");
    assert!(chain.parse::<Filter>().expect("a long one").takes(&flow("10.0.0.1", 1, "10.0.0.2", 80)));
}

/// An expression as a tree, evaluated by what the words mean, one packet at a time.
#[derive(Clone, Debug)]
enum Slow {
    /// Direction, kind and value, as words.
    Is(&'static str, &'static str, String),
    Version(&'static str),
    Not(Box<Slow>),
    Both(&'static str, Box<Slow>, Box<Slow>),
}

impl Slow {
    /// Its text, with as few parentheses as the order of evaluation allows.
    fn text(&self) -> String {
        match self {
            Self::Is(direction, kind, value) => format!("{direction} {kind} {value}").trim().to_owned(),
            Self::Version(word) => (*word).to_owned(),
            Self::Not(inside) if matches!(**inside, Self::Both(..)) => format!("not ({})", inside.text()),
            Self::Not(inside) => format!("not {}", inside.text()),
            Self::Both(junction, left, right) if matches!(**right, Self::Both(..)) => {
                format!("{} {junction} ({})", left.text(), right.text())
            }
            Self::Both(junction, left, right) => format!("{} {junction} {}", left.text(), right.text()),
        }
    }

    fn takes(&self, flow: &FlowKey) -> bool {
        match self {
            Self::Version("ip") => flow.a.address.is_ipv4(),
            Self::Version("ip6") => flow.a.address.is_ipv6(),
            Self::Version(_) => true,
            Self::Not(inside) => !inside.takes(flow),
            Self::Both("and" | "&&", left, right) => left.takes(flow) & right.takes(flow),
            Self::Both(_, left, right) => left.takes(flow) | right.takes(flow),
            Self::Is(direction, kind, value) => {
                let [source, destination] = [flow.a, flow.b].map(|end| is(end, kind, value));
                match *direction {
                    "src" => source,
                    "dst" => destination,
                    "src and dst" => source & destination,
                    _ => source | destination,
                }
            }
        }
    }
}

/// The bits of an address, as text.
fn bits(address: IpAddr) -> String {
    match address {
        IpAddr::V4(four) => four.octets().iter().map(|octet| format!("{octet:08b}")).collect(),
        IpAddr::V6(six) => six.octets().iter().map(|octet| format!("{octet:08b}")).collect(),
    }
}

fn is(end: Endpoint, kind: &str, value: &str) -> bool {
    match kind {
        "port" => end.port.to_string() == value,
        "portrange" => {
            let (first, last) = value.split_once('-').expect("two ports");
            (first.parse().expect("a port")..=last.parse().expect("a port")).any(|port: u16| port == end.port)
        }
        "net" => {
            let (base, length) = value.split_once('/').expect("a prefix");
            let base: IpAddr = base.parse().expect("an address");
            let length: usize = length.parse().expect("a length");
            base.is_ipv4() == end.address.is_ipv4() && bits(base)[..length] == bits(end.address)[..length]
        }
        _ => end.address == value.parse::<IpAddr>().expect("an address"),
    }
}

const ADDRESSES: [&str; 6] =
    ["10.0.0.1", "10.0.0.2", "10.0.1.1", "2001:db8::1", "2001:db8::2", "2001:db8:1::1"];
const NETS: [&str; 8] = [
    "10.0.0.0/24",
    "10.0.0.0/31",
    "10.0.0.0/8",
    "0.0.0.0/0",
    "2001:db8::/64",
    "2001:db8::/32",
    "2001:db8::/127",
    "::/0",
];

fn primitive() -> impl Strategy<Value = Slow> {
    let value = prop_oneof![
        proptest::sample::select(&ADDRESSES[..]).prop_map(|address| ("host", address.to_owned())),
        proptest::sample::select(&NETS[..]).prop_map(|net| ("net", net.to_owned())),
        (0..4u16).prop_map(|port| ("port", port.to_string())),
        (0..4u16, 0..4u16)
            .prop_map(|(one, other)| { ("portrange", format!("{}-{}", one.min(other), one.max(other))) }),
    ];
    let direction = proptest::sample::select(&["", "src", "dst", "src or dst", "src and dst"][..]);
    prop_oneof![
        6 => (direction, value).prop_map(|(direction, (kind, value))| Slow::Is(direction, kind, value)),
        1 => proptest::sample::select(&["ip", "ip6", "tcp"][..]).prop_map(Slow::Version),
    ]
}

fn slow() -> impl Strategy<Value = Slow> {
    primitive().prop_recursive(6, 40, 2, |inner| {
        let junction = proptest::sample::select(&["and", "or", "&&", "||"][..]);
        prop_oneof![
            inner.clone().prop_map(|inside| Slow::Not(Box::new(inside))),
            (junction, inner.clone(), inner).prop_map(|(junction, left, right)| Slow::Both(
                junction,
                Box::new(left),
                Box::new(right)
            )),
        ]
    })
}

fn key() -> impl Strategy<Value = FlowKey> {
    (0..2usize, 0..3usize, 0..3usize, 0..4u16, 0..4u16).prop_map(|(version, a, b, a_port, b_port)| {
        flow(ADDRESSES[version * 3 + a], a_port, ADDRESSES[version * 3 + b], b_port)
    })
}

proptest! {
    #[test]
    fn filter_selects_what_its_words_mean(slow in slow(), keys in proptest::collection::vec(key(), 1..20)) {
        let text = slow.text();
        let filter: Filter = text.parse().map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
        for key in keys {
            prop_assert_eq!(filter.takes(&key), slow.takes(&key), "{} of {}", text, key);
        }
    }

    #[test]
    fn any_text_is_read_or_refused_at_a_position_in_it(
        words in proptest::collection::vec(
            prop_oneof![
                4 => proptest::sample::select(&[
                    "host", "net", "port", "portrange", "src", "dst", "ip", "ip6", "tcp", "and", "or", "not", "(", ")",
                    "!", "&&", "mask", "10.0.0.1", "10", "80", "1-2", "::1", "::/0", "255.0.0.0", "10.0.0.0/8",
                ][..]).prop_map(str::to_owned),
                1 => "\\PC{0,6}",
            ],
            0..12,
        ),
    ) {
        let text = words.join(" ");
        if let Err(error) = text.parse::<Filter>() {
            prop_assert!((1..=text.chars().count() + 1).contains(&error.at), "{}: {}", text, error);
        }
    }
}
