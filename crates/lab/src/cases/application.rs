//! Transfers limited by the applications.

use super::{PACKETS, SUPER, mbit, ms, rows, suffix};
use crate::case::{Check, LabelledCase, Set, ShareBasis};
use crate::settings::Offload;
use crate::workload::{Exchange, Stream, Workload, Writer};

pub(super) fn cases(set: Set) -> Vec<LabelledCase> {
    [messages(set), steady_writes(set), request_response(set), slow_server(set)].concat()
}

#[derive(Clone, Copy)]
struct Messages {
    rate: u64,
    rtt: u64,
    bytes: u64,
    every: u64,
    count: u32,
    nodelay: bool,
    offload: Offload,
}

impl Messages {
    const fn row(
        rate: u64,
        rtt: u64,
        bytes: u64,
        every: u64,
        count: u32,
        nodelay: bool,
        offload: Offload,
    ) -> Self {
        Self { rate, rtt, bytes, every, count, nodelay, offload }
    }

    fn case(self, set: Set, name: &str) -> LabelledCase {
        let writer = Writer::Messages { bytes: self.bytes, every_ns: ms(self.every), count: self.count };
        let nodelay = if self.nodelay { "-nodelay" } else { "" };
        LabelledCase::new(
            set,
            name,
            "application/sender-idle",
            mbit(self.rate),
            ms(self.rtt),
            Workload::Streams(vec![Stream::one(writer)]),
        )
        .variant(format!(
            "{}mbit-{}ms-{}b-every-{}ms{nodelay}{}",
            self.rate,
            self.rtt,
            self.bytes,
            self.every,
            suffix(self.offload)
        ))
        .with(|s| s.sender_socket.nodelay = self.nodelay)
        .offload(self.offload)
        .check(Check::NothingDropped)
        .check(Check::LinkUsedAtMost(0.6))
    }
}

/// Between messages everything is acknowledged, so the kernel counts the sender as idle.
fn messages(set: Set) -> Vec<LabelledCase> {
    let row = Messages::row;
    let rows = rows(
        set,
        &[
            row(10, 20, 4096, 100, 50, false, PACKETS),
            row(20, 30, 100_000, 500, 10, false, PACKETS),
            row(20, 10, 500, 50, 100, true, PACKETS),
            row(50, 20, 60_000, 250, 20, true, SUPER),
        ],
        &[
            row(15, 25, 6000, 150, 40, false, PACKETS),
            row(30, 15, 200_000, 800, 7, false, PACKETS),
            row(8, 12, 900, 70, 70, true, PACKETS),
        ],
        &[row(12, 35, 9000, 120, 45, false, PACKETS), row(40, 18, 45_000, 330, 14, true, SUPER)],
    );
    let about = "The sending application writes a message at intervals; in between there is nothing to send.";
    let case = |row: Messages| row.case(set, "messages").about(about).share_at_least(ShareBasis::Idle, 0.4);
    rows.into_iter().map(case).collect()
}

/// There is always something in flight, so the kernel counts the sender as busy all the time.
fn steady_writes(set: Set) -> Vec<LabelledCase> {
    let row = Messages::row;
    let rows = rows(
        set,
        &[
            row(20, 40, 200, 5, 800, true, PACKETS),
            row(20, 60, 1000, 10, 400, false, PACKETS),
            row(50, 40, 20_000, 20, 200, true, PACKETS),
            row(50, 80, 50_000, 50, 90, true, SUPER),
        ],
        &[
            row(30, 50, 350, 8, 600, true, PACKETS),
            row(10, 90, 700, 15, 300, false, PACKETS),
            row(40, 30, 9000, 12, 350, true, PACKETS),
        ],
        &[row(25, 70, 500, 12, 450, true, PACKETS), row(60, 45, 14_000, 25, 160, true, SUPER)],
    );
    let about = "The sending application writes at a steady pace below the path's rate; something is always in flight.";
    let case = |row: Messages| {
        row.case(set, "steady-writes").about(about).check(Check::ShareAtMost(ShareBasis::Idle, 0.3))
    };
    rows.into_iter().map(case).collect()
}

fn request_response(set: Set) -> Vec<LabelledCase> {
    // Link in Mbit/s, RTT in ms, bytes of a response, ms of thinking, rounds.
    let rows = rows(
        set,
        &[
            (20, 20, 50_000, 200, 15, PACKETS),
            (10, 40, 8000, 150, 20, PACKETS),
            (50, 30, 150_000, 400, 8, SUPER),
        ],
        &[(30, 25, 70_000, 300, 12, PACKETS), (15, 50, 12_000, 250, 14, PACKETS)],
        &[(25, 35, 90_000, 350, 10, PACKETS), (12, 60, 20_000, 220, 14, SUPER)],
    );
    let case = |(rate, rtt, response, think, rounds, offload)| {
        let plan =
            Exchange { rounds_per_connection: rounds, think_ns: ms(think), ..Exchange::one(200, response) };
        LabelledCase::new(
            set,
            "request-response",
            "application/think-time",
            mbit(rate),
            ms(rtt),
            Workload::Exchange(plan),
        )
        .variant(format!("{rate}mbit-{rtt}ms-{response}b-think-{think}ms{}", suffix(offload)))
        .about("The client thinks before each next request; the server has nothing to send meanwhile.")
        .offload(offload)
        .queue(200)
        .share_at_least(ShareBasis::Idle, 0.5)
        .check(Check::NothingDropped)
    };
    rows.into_iter().map(case).collect()
}

fn slow_server(set: Set) -> Vec<LabelledCase> {
    // Link in Mbit/s, RTT in ms, bytes of a response, ms the server takes, rounds.
    let rows = rows(
        set,
        &[(20, 20, 30_000, 250, 14), (10, 60, 10_000, 300, 10)],
        &[(25, 30, 45_000, 350, 10)],
        &[(30, 45, 60_000, 400, 9)],
    );
    let case = |(rate, rtt, response, server, rounds)| {
        let plan =
            Exchange { rounds_per_connection: rounds, server_ns: ms(server), ..Exchange::one(300, response) };
        LabelledCase::new(
            set,
            "slow-server",
            "application/sender-idle",
            mbit(rate),
            ms(rtt),
            Workload::Exchange(plan),
        )
        .variant(format!("{rate}mbit-{rtt}ms-{response}b-server-{server}ms"))
        .about("The server takes its time before each answer; requests follow answers at once.")
        .or("application/think-time")
        .queue(200)
        .share_at_least(ShareBasis::Idle, 0.4)
        .check(Check::NothingDropped)
    };
    rows.into_iter().map(case).collect()
}
