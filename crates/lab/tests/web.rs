//! A web server under load, for a short while.

use slowpath_lab::web::{Bench, Events, Ran, Requested, Server, Times, WebCase, tools};
use slowpath_lab::{error::LabError, signals};
use std::fs;
use std::time::Duration;

const PROGRAMS: [&str; 4] = ["nginx", "apache2", "haproxy", "wrk"];
const TIMES: Times = Times { warm_up: Duration::from_millis(500), observed: Duration::from_secs(1) };

/// A file of this size, served by nginx.
fn case(kib: u32, requests: u32, sendfile: bool, tso: bool) -> WebCase {
    WebCase { requested: Requested::FileKib(kib), requests, sendfile, tso, server: Server::Nginx }
}

fn observed(bench: &Bench, case: WebCase) -> Ran {
    let (ran, cpu) = bench.run(case, TIMES, Ok::<_, LabError>, Ok).expect("it is served");
    assert_eq!((ran.case, ran.server_cpu), (case, cpu));
    ran
}

/// Processes of these names that run with this process as their ancestor or without any.
fn running(names: &[&str]) -> Vec<String> {
    let of = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("comm")).ok();
    let all = fs::read_dir("/proc").expect("proc(5)").flatten().filter_map(of);
    all.filter(|comm| names.contains(&comm.trim())).collect()
}

#[test]
#[ignore = "needs root"]
fn web_counters_match_the_requests() {
    if let Some(missing) = tools::missing(&[Server::Nginx]).first() {
        println!("not judged: a web server under load: {} is not installed", missing.command);
        return;
    }
    signals::clean_up_when_ended().expect("signals");
    let before = running(&PROGRAMS).len();
    let bench = Bench::build(&[Requested::FileKib(1), Requested::FileKib(64), Requested::Mixed])
        .expect("a server and a client");
    let one = observed(&bench, case(1, 1, true, true));
    let ten = observed(&bench, case(64, 10, false, false));
    for ran in [&one, &ten] {
        let counted = &ran.counted;
        println!("{ran:?}");
        assert!(counted.requests > 100 && ran.load.requests >= counted.requests, "{ran:?}");
        assert_eq!(ran.load.errors, 0, "{ran:?}");
        assert!((0.9..3.0).contains(&counted.seconds), "{ran:?}");
        // The file is only a part of the answer.
        let Requested::FileKib(kib) = ran.case.requested else { panic!("a file: {ran:?}") };
        let file = f64::from(kib) * 1024.0;
        let each = counted.bytes_out as f64 / counted.requests as f64;
        assert!((file..file * 1.6 + 1000.0).contains(&each), "{each} bytes a request: {ran:?}");
        // Data in flight at the ends of the time counts on one side only.
        let a_connection = counted.requests as f64 / counted.connections as f64;
        let expected = f64::from(ran.case.requests);
        assert!((a_connection / expected - 1.0).abs() < 0.2, "{a_connection} a connection: {ran:?}");
        assert_eq!(counted.dropped, 0, "{ran:?}");
        // The CPU of receive softirqs is requested, and right for nearly all; other devices of the machine may receive
        // there too.
        let at_home = ran.received_at_home().expect("packets came");
        assert!((0.9..1.5).contains(&at_home), "{at_home}: {ran:?}");
    }
    // Without TSO a buffer is a segment: the client's device saw as many as TCP counted, and far fewer with TSO.
    let packets = |ran: &Ran| ran.counted.packets_to_client as f64 / ran.counted.segments_out as f64;
    assert!(packets(&ten) > 0.9 && packets(&ten) < 1.1, "{ten:?}");
    let large = observed(&bench, case(64, 10, true, true));
    assert!(packets(&large) < 0.5, "{large:?}");
    // The files of the mixed workload are there, all of them: none of the requests fails.
    let mixed = WebCase { requested: Requested::Mixed, ..case(1, 1, true, false) };
    let mixed = observed(&bench, mixed);
    println!("{mixed:?}");
    assert!(mixed.counted.requests > 100 && mixed.load.errors == 0, "{mixed:?}");
    let each = mixed.counted.bytes_out as f64 / mixed.counted.requests as f64;
    assert!((5_000.0..100_000.0).contains(&each), "{each} bytes a request: {mixed:?}");
    drop(bench);
    assert_eq!(running(&PROGRAMS).len(), before);
}

/// Each server counts what it answers, delivers whole files, and is gone afterwards.
#[test]
#[ignore = "needs root"]
fn other_servers_are_loaded_as_well() {
    let others = [
        (Server::Apache, true),
        (Server::Haproxy(Events::Epoll), false),
        (Server::Haproxy(Events::Poll), false),
        (Server::Haproxy(Events::Select), false),
    ];
    if let Some(missing) = tools::missing(&others.map(|other| other.0)).first() {
        println!("not judged: other web servers under load: {} is not installed", missing.command);
        return;
    }
    signals::clean_up_when_ended().expect("signals");
    let before = running(&PROGRAMS).len();
    let bench = Bench::build(&[Requested::FileKib(8)]).expect("a server and a client");
    for (server, sendfile) in others {
        let ran = observed(&bench, WebCase { server, ..case(8, 1, sendfile, false) });
        let counted = &ran.counted;
        println!("{ran:?}");
        assert!(counted.requests > 100 && ran.load.requests >= counted.requests, "{ran:?}");
        assert_eq!(ran.load.errors, 0, "{ran:?}");
        let each = counted.bytes_out as f64 / counted.requests as f64;
        assert!((8192.0..14_000.0).contains(&each), "{each} bytes a request: {ran:?}");
        let a_connection = counted.requests as f64 / counted.connections as f64;
        assert!((a_connection - 1.0).abs() < 0.2, "{a_connection} a connection: {ran:?}");
    }
    drop(bench);
    assert_eq!(running(&PROGRAMS).len(), before);
}
