//! The written captures that the handbook's pages name, one per cause.

use crate::transfer::{Fate, MS, MSS, Setup, Taps, transfer};
use crate::wire::{self, ENDS, Passed, file_of, frames, script};
use slowpath_model::{End, Flags, Instant, Segment, StreamOffset};
use std::cell::Cell;
use std::net::{IpAddr, Ipv4Addr};

/// Passes everything that a rule does not lose.
pub fn losing(mut rule: impl FnMut(&Segment) -> bool) -> impl FnMut(&Segment) -> Fate {
    move |segment| if rule(segment) { Fate::Lose } else { Fate::Pass }
}

/// Loses one data packet in so many, at the same places in every run.
pub fn at_random(one_in: u32) -> impl FnMut(&Segment) -> bool {
    let mut state = 1u32;
    move |segment| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        segment.len > 0 && (state >> 8).is_multiple_of(one_in)
    }
}

/// The SYN meets an old connection with other sequence numbers; seen at the server.
pub fn old_connection() -> Vec<Passed> {
    script(
        "0.000000 > S 0:0(0) win 64240 <mss 1460,sackOK,TS val 7000 ecr 0,wscale 7> // frame 0 id 101 ttl 63
         \
         0.000040 < . 812345:812345(0) ack -45000 win 491 <TS val 900000 ecr 5500> // frame 0 id 7001 ttl 64
         \
         0.040700 > R -45000:-45000(0) win 0 // frame 0 id 102 ttl 63
         1.017000 > S 0:0(0) win 64240 \
         <mss 1460,sackOK,TS val 8017 ecr 0,wscale 7> // frame 0 id 103 ttl 63
         1.017050 < S. 0:0(0) \
         ack 1 win 65160 <mss 1460,sackOK,TS val 901017 ecr 8017,wscale 7> // frame 0 id 0 ttl 64
         \
         1.057400 > . 1:1(0) ack 1 win 502 <TS val 8057 ecr 901017> // frame 0 id 104 ttl 63
         \
         1.057500 > P. 1:421(420) ack 1 win 502 <TS val 8057 ecr 901017> // frame 0 id 105 ttl 63
         \
         1.057550 < . 1:1(0) ack 421 win 506 <TS val 901058 ecr 8057> // frame 0 id 1 ttl 64
         \
         1.059000 < P. 1:156(155) ack 421 win 506 <TS val 901059 ecr 8057> // frame 0 id 2 ttl 64
         \
         1.099400 > . 421:421(0) ack 156 win 501 <TS val 8099 ecr 901059> // frame 0 id 106 ttl 63
         \
         1.099500 > F. 421:421(0) ack 156 win 501 <TS val 8099 ecr 901059> // frame 0 id 107 ttl 63
         \
         1.099600 < F. 156:156(0) ack 422 win 506 <TS val 901100 ecr 8099> // frame 0 id 3 ttl 64
         \
         1.140000 > . 422:422(0) ack 157 win 501 <TS val 8140 ecr 901100> // frame 0 id 108 ttl 63",
    )
}

/// A SYN with data and two without, of which the first `lost` do not arrive; seen at the client.
pub fn fast_open(lost: usize) -> Vec<Passed> {
    let syn = "S 0:0(0) win 64240 <mss 1460,sackOK,TS val";
    let mut lines = format!(
        "0.000000 > S 0:400(400) win 64240 <mss 1460,sackOK,TS val 7000 ecr 0,wscale 7,FO> // frame 0 id 101 \
         ttl 64
         1.002000 > {syn} 8002 ecr 0,wscale 7> // frame 0 id 102 ttl 64\n"
    );
    let (at, val) = if lost > 1 { (3.034, 10_034) } else { (1.002, 8_002) };
    if lost > 1 {
        lines += &format!("{at:.6} > {syn} {val} ecr 0,wscale 7> // frame 0 id 103 ttl 64\n");
    }
    let round = |n: i32| f64::from(n).mul_add(0.0405, at);
    lines += &format!(
        "{:.6} < {syn_ack} 901017 ecr {val},wscale 7> // frame 0 id 0 ttl 63
         {:.6} > P. 1:401(400) ack 1 win 502 <TS val {} ecr 901017> // frame 0 id 104 ttl 64
         {:.6} < P. 1:1449(1448) ack 401 win 506 <TS val 901058 ecr {}> // frame 0 id 1 ttl 63
         {:.6} > F. 401:401(0) ack 1449 win 501 <TS val {} ecr 901058> // frame 0 id 105 ttl 64
         {:.6} < F. 1449:1449(0) ack 402 win 506 <TS val 901099 ecr {}> // frame 0 id 2 ttl 63
         {:.6} > . 402:402(0) ack 1450 win 501 <TS val {} ecr 901099> // frame 0 id 106 ttl 64",
        round(1),
        round(1) + 0.0001,
        val + 41,
        round(2) + 0.001,
        val + 41,
        round(2) + 0.0012,
        val + 83,
        round(3) + 0.0014,
        val + 83,
        round(3) + 0.0015,
        val + 124,
        syn_ack = "S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,TS val",
    );
    script(&lines)
}

/// A SYN arrives at the server six times, damaged, and nothing answers it.
pub fn not_answered() -> Vec<Passed> {
    syns("63", "wrong")
}

/// Six SYNs and no answer.
pub fn syns(ttl: &str, checksum: &str) -> Vec<Passed> {
    let times = [0.0, 1.014, 3.062, 7.094, 15.286, 31.414];
    let lines = times.iter().enumerate().map(|(n, at)| {
        format!(
            "{at:.6} > S 0:0(0) win 64240 <mss 1460,sackOK,TS val {} ecr 0,wscale 7> // frame 0 id {} ttl \
             {ttl} checksum {checksum}\n",
            7_000 + (at * 1000.0) as u32,
            101 + n,
        )
    });
    script(&lines.collect::<String>())
}

/// The server does not accept the first three SYNs, and answers the fourth; seen at the server.
pub fn queue_full() -> Vec<Passed> {
    let mut lines = String::new();
    for (n, at) in ["0.000000", "1.014000", "2.038000", "3.062000"].iter().enumerate() {
        let val = 7_000 + 1_020 * n;
        lines += &format!(
            "{at} > S 0:0(0) win 64240 <mss 1460,sackOK,TS val {val} ecr 0,wscale 7> // frame 0 id {} ttl 63\n",
            101 + n
        );
    }
    lines += "3.062040 < S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,TS val 901017 ecr 10060,wscale 7> // \
         frame 0 id 0 ttl 64
         3.102400 > . 1:1(0) ack 1 win 502 <TS val 10100 ecr 901017> // frame 0 \
         id 105 ttl 63
         3.102500 > P. 1:421(420) ack 1 win 502 <TS val 10100 ecr 901017> // frame 0 \
         id 106 ttl 63
         3.102550 < . 1:1(0) ack 421 win 506 <TS val 901058 ecr 10100> // frame 0 id \
         1 ttl 64
         3.104000 < P. 1:156(155) ack 421 win 506 <TS val 901059 ecr 10100> // frame 0 id \
         2 ttl 64
         3.144400 > . 421:421(0) ack 156 win 501 <TS val 10142 ecr 901059> // frame 0 id \
         107 ttl 63";
    script(&lines)
}

/// What answers a request after a pause.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Never,
    /// Its last retransmission.
    AtLast,
    /// At once, and by a RST.
    Reset,
}

/// Answered requests, a pause, and a request that only `answer` answers; seen at the client.
pub fn after_pause(answer: Answer) -> Vec<Passed> {
    let mut lines = handshake() + &requests(3);
    if answer == Answer::Reset {
        lines += "4.600000 > P. 901:1201(300) ack 301 win 502 // frame 0 id 300 ttl 64
                  4.640200 < R 301:301(0) win 0 // frame 0 id 0 ttl 63\n";
        return script(&lines);
    }
    // An RTO of 240 ms, doubled each time.
    let (mut at, mut wait) = (4.6, 0.24);
    for n in 0..8 {
        lines += &format!("{at:.6} > P. 901:1201(300) ack 301 win 502 // frame 0 id {} ttl 64\n", 300 + n);
        at += wait;
        wait *= 2.0;
    }
    if answer == Answer::AtLast {
        let at = at - wait / 2.0 + 0.045;
        lines += &format!(
            "{at:.6} < P. 301:401(100) ack 1201 win 509 // frame 0 id 60 ttl 63
             {:.6} > . 1201:1201(0) ack 401 win 502 // frame 0 id 320 ttl 64\n",
            at + 0.0001
        );
    }
    script(&lines)
}

/// Requests of 300 bytes with answers of 100, from 0.05 s on, one every 0.2 s.
pub fn requests(turns: u32) -> String {
    let mut lines = String::new();
    let mut at = 0.05;
    for turn in 0..turns {
        let (request, answer) = (1 + 300 * turn, 1 + 100 * turn);
        lines += &format!(
            "{at:.6} > P. {request}:{}(300) ack {answer} win 502 // frame 0 id {} ttl 64
             {:.6} < P. {answer}:{}(100) ack {} win 509 // frame 0 id {} ttl 63
             {:.6} > . {r}:{r}(0) ack {} win 502 // frame 0 id {} ttl 64\n",
            request + 300,
            200 + 2 * turn,
            at + 0.045,
            answer + 100,
            request + 300,
            50 + turn,
            at + 0.0451,
            answer + 100,
            201 + 2 * turn,
            r = request + 300,
        );
        at += 0.2;
    }
    lines
}

/// A port on which nobody listens, seen at the client.
pub fn refused() -> Vec<Passed> {
    script(
        "0.000000 > S 0:0(0) win 64240 <mss 1460,sackOK,wscale 7> // frame 0 id 101 ttl 64
         0.040100 < R. 0:0(0) ack 1 win 0 // frame 0 id 0 ttl 63",
    )
}

/// A SYN that a router answers: the host does not respond on its link. The file of a capture at the client.
pub fn unreachable() -> Vec<u8> {
    let mut frames = frames(&syns("64", "good")[..1], ENDS);
    frames.push(wire::unreachable(&frames[0], Instant::from_nanos(3_060_000_000), 1));
    file_of(&frames)
}

/// The accept queue is full until the third SYN-ACK; seen at the server.
pub fn accept_queue_full() -> Vec<Passed> {
    let mut lines = "0.000000 > S 0:0(0) win 64240 <mss 1460,sackOK,wscale 7> // frame 0 id 101 ttl 63
         0.000040 < S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,wscale 7> // frame 0 id 0 ttl 64
         0.040200 > . 1:1(0) ack 1 win 502 // frame 0 id 102 ttl 63
         0.040300 > P. 1:301(300) ack 1 win 502 // frame 0 id 103 ttl 63\n"
        .to_owned();
    for (n, at) in [0.28, 0.76, 1.72, 3.64].iter().enumerate() {
        lines += &format!("{at:.6} > P. 1:301(300) ack 1 win 502 // frame 0 id {} ttl 63\n", 104 + 3 * n);
        if let Some(again) = [1.02, 3.07].get(n.wrapping_sub(1)).filter(|_| n < 3) {
            lines += &format!(
                "{again:.6} < S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,wscale 7> // frame 0 id 0 ttl 64
                 {:.6} > . 301:301(0) ack 1 win 502 // frame 0 id {} ttl 63\n",
                again + 0.0402,
                105 + 3 * n
            );
        }
    }
    lines += "3.640050 < . 1:1(0) ack 301 win 509 // frame 0 id 40 ttl 64
              3.642000 < P. 1:101(100) ack 301 win 509 // frame 0 id 41 ttl 64
              3.682300 > . 301:301(0) ack 101 win 502 // frame 0 id 120 ttl 63\n";
    script(&lines)
}

/// As [`accept_queue_full`], behind a SYN cookie: the server does not repeat its SYN-ACK.
pub fn accept_queue_full_with_cookies() -> Vec<Passed> {
    let of_cookie = |(at, segment): &Passed| {
        let is_late = at.nanos() > 1_000_000_000;
        let answers_syn_ack =
            segment.from == End::A && segment.len == 0 && segment.ack == Some(StreamOffset(1));
        !is_late || !segment.flags.has(Flags::SYN) && !answers_syn_ack
    };
    let mut passed = accept_queue_full();
    passed.retain(of_cookie);
    passed
}

/// The handshake's last ACK is lost, and the server repeats its SYN-ACK once; seen at the client.
pub fn last_ack_lost() -> Vec<Passed> {
    let lines = handshake()
        + "1.060000 < S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,wscale 7> // frame 0 id 0 ttl 63
           1.060050 > . 1:1(0) ack 1 win 502 // frame 0 id 103 ttl 64
           1.200000 > P. 1:301(300) ack 1 win 502 // frame 0 id 104 ttl 64
           1.242000 < P. 1:101(100) ack 301 win 509 // frame 0 id 41 ttl 63
           1.242100 > . 301:301(0) ack 101 win 502 // frame 0 id 105 ttl 64\n";
    script(&lines)
}

/// The server's idle timeout expires just when the next request leaves; seen at the client.
pub fn reset_closed() -> Vec<Passed> {
    let lines = handshake()
        + &requests(3)
        + "5.480000 > P. 901:1201(300) ack 301 win 502 // frame 0 id 300 ttl 64
           5.495000 < F. 301:301(0) ack 901 win 509 // frame 0 id 60 ttl 63
           5.495100 > . 1201:1201(0) ack 302 win 502 // frame 0 id 301 ttl 64
           5.520200 < R 301:301(0) win 0 // frame 0 id 0 ttl 63\n";
    script(&lines)
}

/// The client aborts in the middle of an answer; seen at the client.
pub fn reset_aborted() -> Vec<Passed> {
    let mut lines = handshake() + "0.050000 > P. 1:301(300) ack 1 win 502 // frame 0 id 103 ttl 64\n";
    lines += &burst(0.095, "<", "ack 301 win 509", 50, 63);
    lines += "0.096900 > . 301:301(0) ack 7301 win 502 // frame 0 id 104 ttl 64
              0.098000 > R. 301:301(0) ack 7301 win 502 // frame 0 id 105 ttl 64\n";
    script(&lines)
}

/// A RST with the given TTL answers a request, whose server is 11 hops further; seen at the client.
pub fn reset_on_path(ttl: u8) -> Vec<Passed> {
    script(&reset_after_turns(3, ttl))
}

/// The lines of that, after so many turns.
pub fn reset_after_turns(turns: u32, ttl: u8) -> String {
    let far = (handshake() + &requests(turns)).replace("ttl 63", "ttl 52");
    let (asked, answered) = (1 + 300 * turns, 1 + 100 * turns);
    let at = 1.0 + 0.2 * f64::from(turns - 3);
    far + &format!(
        "{at:.6} > P. {asked}:{next}(300) ack {answered} win 502 // frame 0 id 300 ttl 64
         {:.6} < R. {answered}:{answered}(0) ack {next} win 0 // frame 0 id 9 ttl {ttl}\n",
        at + 0.0402,
        next = asked + 300,
    )
}

/// A RST in the client's name passes amid an upload, and the client sends on; the server accepts it if `takes`. Seen at
/// the server.
pub fn reset_in_an_upload(takes: bool) -> Vec<Passed> {
    let mut lines = "0.000000 > S 0:0(0) win 64240 <mss 1460,sackOK,wscale 7> // frame 0 id 101 ttl 63
         0.000040 < S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,wscale 7> // frame 0 id 0 ttl 64
         0.040200 > . 1:1(0) ack 1 win 502 // frame 0 id 102 ttl 63\n"
        .to_owned();
    let answer = |n: u32| {
        if n >= 20 && takes {
            "R 1:1(0) win 0".to_owned()
        } else {
            format!(". 1:1(0) ack {} win 509", 1461 + 1460 * n)
        }
    };
    for n in 0..2000 {
        let at = 0.05 + 0.001 * f64::from(n);
        if n == 20 {
            let beyond = if takes { 0 } else { 500_000 };
            let seq = 1 + 1460 * n + beyond;
            lines +=
                &format!("{:.6} > R. {seq}:{seq}(0) ack 1 win 502 // frame 0 id 9 ttl 63\n", at - 0.0005);
        }
        lines += &format!(
            "{at:.6} > . {}:{}(1460) ack 1 win 502 // frame 0 id {} ttl 63
             {:.6} < {} // frame 0 id {} ttl 64\n",
            1 + 1460 * n,
            1461 + 1460 * n,
            200 + n,
            at + 0.00004,
            answer(n),
            700 + n
        );
        if takes && n == 30 {
            break;
        }
    }
    script(&lines)
}

/// The RST that answers a request comes after so many milliseconds; all other answers took 40 or more. Seen at the
/// client.
pub fn reset_after(millis: f64) -> Vec<Passed> {
    let lines = handshake()
        + &requests(3)
        + &format!(
            "1.000000 > P. 901:1201(300) ack 301 win 502 // frame 0 id 300 ttl 64
             {:.6} < R 301:301(0) win 0 // frame 0 id 0 ttl 63\n",
            1.0 + millis / 1000.0
        );
    script(&lines)
}

/// Full segments over 40 ms, 2 s of silence, and more of them; seen at B. `numbered` says whether they have timestamps
/// and identifications that count up.
pub fn silent(numbered: bool) -> Vec<Passed> {
    let stamps =
        |val: u32, ecr: u32| if numbered { format!("TS val {val} ecr {ecr}") } else { "nop".to_owned() };
    let syn = |val, ecr| {
        if numbered {
            format!("mss 1460,{},wscale 7", stamps(val, ecr))
        } else {
            "mss 1460,wscale 7".to_owned()
        }
    };
    let option = |val, ecr| if numbered { format!("<{}> ", stamps(val, ecr)) } else { String::new() };
    let id = |n: u32| if numbered { 100 + n } else { n.wrapping_mul(40_503) % 65_536 };
    let len = if numbered { 1448 } else { 1460 };
    let mut lines = format!(
        "0.000000 > S 0:0(0) win 64240 <{}> // frame 0 id {} ttl 52
         0.000040 < S. 0:0(0) ack 1 win 65160 <{}> // frame 0 id 0 ttl 64
         0.040100 > . 1:1(0) ack 1 win 502 {}// frame 0 id {} ttl 52\n",
        syn(7_000, 0),
        id(0),
        syn(900_000, 7_000),
        option(7_040, 900_000),
        id(1),
    );
    let (mut at, mut next) = (0.041, 1);
    for n in 0..60 {
        let val = 7_000 + (at * 1000.0) as u32;
        lines += &format!(
            "{at:.6} > . {next}:{}({len}) ack 1 win 502 {}// frame 0 id {} ttl 52
             {:.6} < . 1:1(0) ack {} win 509 {}// frame 0 id {} ttl 64\n",
            next + len,
            option(val, val + 892_960),
            id(2 + n),
            at + 0.00004,
            next + len,
            option(893_000 + val, val),
            900 + n,
        );
        next += len;
        at += if n == 30 { 2.0 } else { 0.0401 };
    }
    script(&lines)
}

/// The answer to a request comes from the address behind the NAT, and the client resets that connection; the server
/// then no longer knows it. The file of a capture at the client.
pub fn stray() -> Vec<u8> {
    let server = (IpAddr::V4(Ipv4Addr::new(10, 1, 2, 3)), 8080);
    let lines = handshake()
        + &requests(3)
        + "1.000000 > P. 901:1201(300) ack 301 win 502 // frame 0 id 300 ttl 64
           1.240000 > P. 901:1201(300) ack 301 win 502 // frame 0 id 301 ttl 64
           1.280200 < R 301:301(0) win 0 // frame 0 id 0 ttl 63\n";
    let mut all = frames(&script(&lines), ENDS);
    let stray = "1.041000 < P. 301:401(100) ack 1201 win 509 // frame 0 id 60 ttl 63
                 1.041020 > R 1201:1201(0) win 0 // frame 0 id 0 ttl 64";
    all.extend(frames(&script(stray), [ENDS[0], server]));
    all.sort_by_key(|frame| frame.at);
    file_of(&all)
}

/// A connection, and unanswered SYNs to the same server from another port. The file of a capture at one of them.
pub fn syns_beside(connection: &[Passed]) -> Vec<u8> {
    let mut all = frames(connection, ENDS);
    all.extend(frames(&syns("63", "good"), [(ENDS[0].0, 41_000), ENDS[1]]));
    all.sort_by_key(|frame| frame.at);
    file_of(&all)
}

/// A handshake over 40 ms without timestamps, seen at the client.
pub fn handshake() -> String {
    "0.000000 > S 0:0(0) win 64240 <mss 1460,sackOK,wscale 7> // frame 0 id 101 ttl 64
     0.040100 < S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,wscale 7> // frame 0 id 0 ttl 63
     0.040150 > . 1:1(0) ack 1 win 502 // frame 0 id 102 ttl 64\n"
        .to_owned()
}

/// The handshake as it passes a tap at B, 40 ms from A.
pub fn handshake_from_afar() -> String {
    "0.000000 > S 0:0(0) win 64240 <mss 1460,sackOK,wscale 7> // frame 0 id 101 ttl 63
     0.000050 < S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,wscale 7> // frame 0 id 0 ttl 64
     0.040150 > . 1:1(0) ack 1 win 502 // frame 0 id 102 ttl 63\n"
        .to_owned()
}

/// Ten full segments in 2 ms, from that time on: direction, ACK and window, and the first one's identification.
pub fn burst(begin: f64, arrow: &str, says: &str, id: u32, ttl: u8) -> String {
    let line = |n: u32| {
        let (at, start) = (begin + 0.0002 * f64::from(n), 1 + 1460 * n);
        format!(
            "{at:.6} {arrow} . {start}:{}(1460) {says} // frame 0 id {} ttl {ttl}\n",
            start + 1460,
            id + n
        )
    };
    (0..10).map(line).collect()
}

/// `count` segments of `size` bytes, each sent after the ACK of the one before: when the first is sent, the time from
/// one to the next, and to the ACK, in seconds; and the window fields of both ends.
pub fn one_at_a_time(count: u32, size: u32, [begin, every, answer]: [f64; 3], windows: [u16; 2]) -> String {
    let [win, win_back] = windows;
    let line = |n: u32| {
        let (at, start) = (f64::from(n).mul_add(every, begin), 1 + size * n);
        let end = start + size;
        format!(
            "{at:.6} > P. {start}:{end}({size}) ack 1 win {win}
             {:.6} < . 1:1(0) ack {end} win {win_back}\n",
            at + answer
        )
    };
    (0..count).map(line).collect()
}

/// An upload in grants of 65,535 bytes.
pub fn credit(one_way: i64) -> Taps {
    transfer(Setup { amount: 3_000_000, credit: Some(65_535), one_way, ..Setup::default() })
}

/// When the reader stops, and when it continues.
const STOPPED: [i64; 2] = [400 * MS, 4_000 * MS];

/// The window closes at once, with data in flight, and opens again after 3.6 s.
pub fn shrinking() -> Taps {
    transfer(Setup {
        amount: 1_000_000,
        window: Box::new(|at, _| if (STOPPED[0]..STOPPED[1]).contains(&at) { 0 } else { 128 << 10 }),
        updates: STOPPED.to_vec(),
        ..Setup::default()
    })
}

/// The reader stops for as long, and the receiver keeps its offer: its window closes segment by segment.
pub fn closing() -> Taps {
    // A multiple of both a segment and the window's unit, so that the window ends at zero.
    let size = 88 * MSS;
    let edge = Cell::new(0);
    transfer(Setup {
        amount: 1_000_000,
        scale: 3,
        window: Box::new(move |at, next| {
            if !(STOPPED[0]..STOPPED[1]).contains(&at) {
                edge.set(next + size);
            }
            edge.get() - next
        }),
        updates: vec![STOPPED[1]],
        ..Setup::default()
    })
}

/// One segment in a hundred is lost, and a firewall that changes sequence numbers by `sack_shift` leaves SACK blocks
/// unchanged.
pub fn untranslated(one_way: i64, sack_shift: u32) -> Taps {
    let fate = Box::new(losing(at_random(100)));
    transfer(Setup { amount: 2_000_000, sack_shift, fate, one_way, ..Setup::default() })
}

/// A's host sends a segment every 1.2 ms, on a path that carries ten.
pub fn paced(one_way: i64) -> Taps {
    transfer(Setup { amount: 8_000_000, pace: 1_200_000, one_way, ..Setup::default() })
}

/// The path carries a segment every 1.2 ms.
pub fn narrow(one_way: i64) -> Taps {
    transfer(Setup { amount: 8_000_000, rate: 1_250, one_way, ..Setup::default() })
}

/// The reader does not read for 4 s, and there is room for everything that arrives meanwhile.
pub fn unread(one_way: i64) -> Taps {
    let size = 4 << 20;
    transfer(Setup {
        amount: 3_000_000,
        send_buffer: 96 << 10,
        window: Box::new(move |at, next| if at < 4_000 * MS { size - next } else { size }),
        delays_unread: true,
        one_way,
        ..Setup::default()
    })
}

/// B's host drops data that has arrived, except its fourth transmission; `fate` gives the fault.
pub fn not_accepted(one_way: i64, fate: Fate) -> Taps {
    let mut seen = std::collections::BTreeMap::new();
    transfer(Setup {
        amount: 600_000,
        fate: Box::new(move |segment| {
            let times = seen.entry(segment.seq).or_insert(0);
            *times += 1;
            // One segment in 40.
            let chosen = (segment.seq.0 / i64::from(MSS)) % 40 == 20;
            if segment.len > 0 && chosen && *times < 3 { fate } else { Fate::Pass }
        }),
        one_way,
        ..Setup::default()
    })
}

/// A device clears the ECN field of everything that A sends.
pub fn ecn_cleared(one_way: i64) -> Taps {
    let fate = Box::new(|segment: &Segment| if segment.from == End::A { Fate::Clear } else { Fate::Pass });
    transfer(Setup { amount: 400_000, ecn: true, fate, one_way, ..Setup::default() })
}

/// One data packet in 200 is marked, and nothing is lost.
pub fn marked(one_way: i64) -> Taps {
    let mut chosen = at_random(200);
    transfer(Setup {
        amount: 4_000_000,
        ecn: true,
        fate: Box::new(move |segment| if chosen(segment) { Fate::Mark } else { Fate::Pass }),
        one_way,
        ..Setup::default()
    })
}

/// A short message arrives, ten full segments do not, however often they are sent; after 20 s the other end closes. At
/// the sender, and at the receiver, which none of the full ones reaches.
pub fn black_hole() -> Taps {
    let mut near = handshake();
    near += "0.050000 > P. 1:301(300) ack 1 win 502 // frame 0 id 103 ttl 64
             0.090300 < . 1:1(0) ack 301 win 509 // frame 0 id 1 ttl 63\n";
    let mut id = 104;
    let mut full = |at: f64, n: u32| {
        let start = 301 + n * 1460;
        id += 1;
        format!("{at:.6} > . {start}:{}(1460) ack 1 win 502 // frame 0 id {id} ttl 64\n", start + 1460)
    };
    for n in 0..10 {
        near += &full(f64::from(n).mul_add(0.000_005, 0.1), n);
    }
    let (mut at, mut wait) = (0.35, 0.25);
    while at < 20.0 {
        near += &full(at, 0);
        at += 2.0 * wait;
        wait *= 2.0;
    }
    near += "20.063900 < F. 1:1(0) ack 301 win 509 // frame 0 id 2 ttl 63
             20.064000 > . 14901:14901(0) ack 2 win 502 // frame 0 id 130 ttl 64";
    let far = "0.000000 > S 0:0(0) win 64240 <mss 1460,sackOK,wscale 7> // frame 0 id 101 ttl 63
               0.000040 < S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,wscale 7> // frame 0 id 0 ttl 64
               0.040200 > . 1:1(0) ack 1 win 502 // frame 0 id 102 ttl 63
               0.050100 > P. 1:301(300) ack 1 win 502 // frame 0 id 103 ttl 63
               0.050130 < . 1:1(0) ack 301 win 509 // frame 0 id 1 ttl 64
               20.023800 < F. 1:1(0) ack 301 win 509 // frame 0 id 2 ttl 64
               20.064100 > . 14901:14901(0) ack 2 win 502 // frame 0 id 130 ttl 63";
    Taps { a: script(&near), b: script(far) }
}

/// Packets of up to two segments leave, and only those of one segment arrive.
pub fn long_ones_dropped(one_way: i64) -> Taps {
    transfer(Setup {
        amount: 200_000,
        offload: 2,
        fate: Box::new(losing(|segment| segment.len > MSS)),
        one_way,
        ..Setup::default()
    })
}

/// A window of 120 KiB with a scale of 1: a firewall passes what lies within the bare field.
pub fn unscaled(one_way: i64) -> Taps {
    let mut edge = i64::MAX;
    transfer(Setup {
        amount: 4_000_000,
        scale: 1,
        window: Box::new(|_, _| 120 << 10),
        fate: Box::new(losing(move |segment| {
            if let (End::B, Some(ack)) = (segment.from, segment.ack) {
                edge = ack.0 + i64::from(segment.window);
            }
            segment.len > 0 && segment.from == End::A && segment.end().0 > edge
        })),
        one_way,
        ..Setup::default()
    })
}
