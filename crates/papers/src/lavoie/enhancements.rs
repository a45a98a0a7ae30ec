//! What the enhancements that the paper proposes or cites would save, estimated from the stacks (sections 1, 2.2 and 6).
//!
//! The paper plans to "determine the potential gains for each". This is a bound on that: the share of the server's
//! samples on the call paths that an enhancement would shorten or remove, as if it removed all of them and cost nothing
//! itself. Bounds of two enhancements do not add up: some paths are in both.

use super::judge::per_cent;
use super::measured::ServerSamples;
use super::{COMPARED, Runs};
use crate::report::{Cell, Judged, Table};
use slowpath_cost::Share;
use slowpath_cost::functions::{Function, Functions, Image};
use slowpath_cost::names::plain;
use slowpath_cost::operations::Operation;

/// An enhancement, and what it would save.
struct Enhancement {
    name: &'static str,
    /// The paper's share of the CPU for the functions in question, in percent: of the functions alone, in 2.4.16 (section
    /// 2.2) or 2.6.14 (section 6).
    published: Option<[f64; 2]>,
    paths: &'static [Path],
}

/// Call paths: those through one of these functions, except for the part of them below others.
enum Path {
    /// One of these operations or functions itself, without what it calls.
    Itself(&'static [&'static str]),
    /// One of these operations or functions, with what it calls.
    Below(&'static [&'static str], &'static [Except]),
}

/// A callee that is not counted; if a caller is named, only where that one is above it.
struct Except {
    callee: &'static str,
    caller: Option<&'static str>,
}

const fn except(callee: &'static str) -> Except {
    Except { callee, caller: None }
}

/// The functions that look up a segment's socket and its route; the first are called where the operation TCP receive has
/// not inlined them.
const LOOKUPS: &[&str] = &[
    "__inet_lookup_established",
    "__inet_lookup_listener",
    "__inet6_lookup_established",
    "tcp_v4_early_demux",
    "tcp_v6_early_demux",
    "ip_route_input_noref",
    "ip_route_input_rcu",
    "ip_route_input_slow",
    "ip6_route_input",
];

const ENHANCEMENTS: [Enhancement; 8] = [
    // Section 1. All that receives a segment, except what it causes: segments sent, buffers freed because they are
    // acknowledged, connections opened and closed. As if all segments were ACKs.
    Enhancement {
        name: "ACK coalescing on the card",
        published: None,
        paths: &[Path::Below(
            &["net_rx_action", "TCP do receive"],
            &[
                except("TCP push pending frames"),
                except("TCP write transmit"),
                except("TCP transmit sk buffer"),
                except("TCP send ACK"),
                except("TCP receive state process"),
                Except { callee: "sk buffer free", caller: Some("TCP ACK receive") },
            ],
        )],
    },
    // Section 6: "moving the TCP send ACK function to the NIC".
    Enhancement {
        name: "TCP send ACK on the card",
        published: None,
        paths: &[Path::Below(&["TCP send ACK"], &[])],
    },
    // Section 2.2: "copying a header prototype and then only modifying the relevant fields as BSD does"; BSD's has the
    // IP header as well.
    Enhancement {
        name: "header prototype",
        published: Some([2.8, 2.8]),
        paths: &[
            Path::Below(
                &["TCP transmit sk buffer"],
                &[
                    except("IP queue transmit"),
                    except("IP output"),
                    except("sk buffer clone"),
                    except("sk buffer allocation"),
                ],
            ),
            Path::Itself(&["IP queue transmit"]),
        ],
    },
    // Sections 2.2 and 6. The paper would copy the structure in one assignment; no clone at all saves no more than this.
    Enhancement {
        name: "no sk buffer clone",
        published: Some([2.3, 2.3]),
        paths: &[Path::Below(&["sk buffer clone"], &[])],
    },
    // Section 2.2: TCP receive "is responsible for the initial demultiplexing of arriving TCP segments". Today a segment's
    // socket is looked up before its route.
    Enhancement {
        name: "early demultiplexing",
        published: Some([5.0, 5.0]),
        paths: &[Path::Itself(&["TCP receive"]), Path::Below(LOOKUPS, &[])],
    },
    // Section 2.2: "breaking out of the loop once all relevant bytes have been cleaned". Compilers put this function into
    // its caller.
    Enhancement {
        name: "leaving the retransmit queue early",
        published: Some([2.0, 2.0]),
        paths: &[Path::Itself(&["TCP clean retransmit queue", "TCP ACK receive"])],
    },
    // Section 2.2: its fields are set one by one "rather than using structure assignment".
    Enhancement {
        name: "TCP clone sock in one copy",
        published: Some([1.0, 1.0]),
        paths: &[Path::Below(&["TCP clone sock"], &[])],
    },
    // Section 6: the card "already assumes the protocol".
    Enhancement {
        name: "Ethernet type from the card",
        published: Some([1.0, 3.0]),
        paths: &[Path::Below(&["Ethernet type"], &[])],
    },
];

/// The name of a kernel function, and of its operation.
struct Named<'a> {
    name: &'a str,
    operation: Option<&'static str>,
}

impl Named<'_> {
    fn is(&self, what: &str) -> bool {
        self.operation == Some(what) || self.name == what
    }

    fn is_any(&self, of: &[&str]) -> bool {
        of.iter().any(|what| self.is(what))
    }
}

fn named(functions: &Functions, function: Function) -> Named<'_> {
    match functions.image(function) {
        // A program's function may have the name of a kernel's.
        Image::User(_) => Named { name: "", operation: None },
        _ => {
            let name = plain(functions.name(function));
            Named { name, operation: Operation::of_kernel(name).map(|operation| operation.name) }
        }
    }
}

impl Path {
    /// Whether a call stack, innermost function first, is one of these.
    fn has(&self, stack: &[&Named<'_>]) -> bool {
        match self {
            Self::Itself(of) => stack.first().is_some_and(|innermost| innermost.is_any(of)),
            Self::Below(of, exceptions) => {
                let Some(at) = stack.iter().position(|named| named.is_any(of)) else { return false };
                let is_excepted = |except: &Except| {
                    stack[..at].iter().enumerate().any(|(inner, named)| {
                        let has_caller =
                            |caller: &str| stack[inner + 1..].iter().any(|named| named.is(caller));
                        named.is(except.callee) && except.caller.is_none_or(has_caller)
                    })
                };
                !exceptions.iter().any(is_excepted)
            }
        }
    }
}

fn bound(measured: &ServerSamples, enhancement: &Enhancement) -> Share {
    let functions = &measured.called;
    let known: Vec<Named<'_>> = functions.iter().map(|function| named(functions, function)).collect();
    let mut share = Share { part: 0, of: measured.total };
    for called in &measured.stacks {
        let stack: Vec<&Named<'_>> =
            called.places.iter().map(|(function, _)| &known[function.0 as usize]).collect();
        if enhancement.paths.iter().any(|path| path.has(&stack)) {
            share.part += called.samples;
        }
    }
    share
}

/// The names of the columns.
const COLUMNS: [&str; COMPARED.len()] = ["1K", "8K", "64K", "mixed"];

/// What each enhancement would save at most, for each workload with one request per connection, sendfile and no TSO.
pub(super) fn table(runs: &Runs) -> Table {
    let mut cells = Vec::new();
    for enhancement in &ENHANCEMENTS {
        for (workload, column) in COMPARED.into_iter().zip(COLUMNS) {
            let Some(measured) = runs.get(super::of(workload)) else { continue };
            let share = per_cent(bound(measured, enhancement));
            let published = enhancement.published.map(|[least, _]| least);
            let published_most =
                enhancement.published.map(|[_, most]| most).filter(|most| Some(*most) != published);
            let cell = Cell::new(enhancement.name, column, published, share, Judged::Shown);
            cells.push(Cell { published_most, ..cell });
        }
    }
    let about = "estimated, upper bound: what each enhancement would save if it removed all of its call paths, % of the server's \
                 CPU; some paths are in two of them";
    Table { name: "Enhancements", about, cells }
}
