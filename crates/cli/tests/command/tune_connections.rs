//! `slowpath tune connections`: connections of a program that knows nothing of it, tuned by what the path store knows and by what
//! is asked for.

use crate::captures::Captures;
use crate::paths::Serving;
use crate::{expect_lines, flat, handbook_example, json, outcome, run, send_signal, slowpath, text};
use slowpath_lab::namespaces::{Namespaces, Place};
use slowpath_model::Bytes;
use slowpath_paths::entry::{Entry, Measure, Pair, Source};
use slowpath_paths::store::Store;
use slowpath_runs::connections::Tuned;
use slowpath_sockops::{Counts, Fate, Granted, Setting};
use slowpath_views::terminal::Look;
use slowpath_views::tune::connections;
use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, fs, process};

/// Says to the child that it connects.
const CONNECTS: &str = "SLOWPATH_CONNECTS";

/// Not a test, but a program that knows nothing of the tuning: it connects to addresses of its host.
#[test]
fn a_program_that_connects() {
    let Ok(addresses) = env::var(CONNECTS) else { return };
    for address in addresses.split(',') {
        let listener = TcpListener::bind((address, 0)).expect("a listener");
        let mut opened =
            TcpStream::connect(listener.local_addr().expect("its address")).expect("it connects");
        let (accepted, _) = listener.accept().expect("it is accepted");
        drop(accepted);
        assert_eq!(opened.read(&mut [0; 1]).expect("the end"), 0);
    }
}

/// A control group of version 2, for as long as the test.
struct Group(PathBuf);

impl Group {
    fn new(name: &str) -> Self {
        let mounts = fs::read_to_string("/proc/mounts").expect("mounts");
        let mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let root =
            mounts.into_iter().find(|mount| mount.get(2) == Some(&"cgroup2")).expect("cgroup2")[1].to_owned();
        let group = PathBuf::from(root).join(format!("slowpath-cli-{}-{name}", process::id()));
        fs::create_dir(&group).expect("as root");
        Self(group)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("text")
    }

    /// Runs the program that connects in the group.
    fn connect(&self, namespaces: &Namespaces, addresses: &str) {
        let procs = self.0.join("cgroup.procs");
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo $$ >\"$0\" && exec nsenter \"$@\""]).arg(procs);
        shell
            .arg(format!("--net={}", namespaces.path(Place::Sender)))
            .arg(env::current_exe().expect("this test"));
        shell.args(["--exact", "tune_connections::a_program_that_connects"]).env(CONNECTS, addresses);
        let output = shell.output().expect("it runs");
        assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// A host with small buffers.
fn host() -> Namespaces {
    let host = Namespaces::create().expect("as root");
    host.sysctl(Place::Sender, "net.ipv4.tcp_wmem", "4096 16384 131072").expect("a sysctl");
    host.sysctl(Place::Sender, "net.ipv4.tcp_rmem", "4096 65536 131072").expect("a sysctl");
    host.ip(Place::Sender, "link set lo up").expect("ip");
    host
}

/// The command, once it tunes, on the host.
fn start(folder: &Captures, host: &Namespaces, args: &[&str]) -> (Child, BufReader<process::ChildStderr>) {
    let binary = slowpath(folder).get_program().to_owned();
    let mut command = Command::new("nsenter");
    command
        .arg(format!("--net={}", host.path(Place::Sender)))
        .arg(binary)
        .args(["tune", "connections"])
        .args(args);
    command.current_dir(folder.path("")).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("nsenter is part of util-linux");
    let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    said.read_line(&mut line).expect("text");
    assert!(line.contains("tuning connections; Ctrl-C ends it"), "{line}");
    (child, said)
}

/// Ends it, and returns its output.
fn end((mut child, mut said): (Child, BufReader<process::ChildStderr>)) -> String {
    send_signal(&child, libc::SIGINT);
    let (mut out, mut err) = (String::new(), String::new());
    child.stdout.take().expect("a pipe").read_to_string(&mut out).expect("text");
    said.read_to_string(&mut err).expect("text");
    assert_eq!((child.wait().expect("it ends").code(), err.as_str()), (Some(0), ""), "{out}");
    out
}

#[test]
#[ignore = "needs root"]
fn connections_are_tuned_from_the_path_store_and_by_prefix() {
    let folder = Captures::new();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let pair = Pair::new([127, 0, 0, 1].into(), [127, 0, 0, 7].into());
    let entry = |measure, value| Entry::new(pair, now, Source::Probe, measure, value);
    let entries = [entry(Measure::RttMin, 10_000_000), entry(Measure::Available, 200_000_000)];
    Store::open(&folder.path("paths.db")).expect("a store").record(&entries, now).expect("recorded");
    let serving = Serving::start(&folder);
    let store = serving.place.to_string();
    let (host, group) = (host(), Group::new("store"));
    let asked = ["--paths", &store, "--to", "127.0.0.8,send=256KiB,pacing=100Mbit/s", "--json"];
    let tuning = start(&folder, &host, &[&["--cgroup", group.path()], &asked[..]].concat());
    group.connect(&host, "127.0.0.7,127.0.0.8,127.0.0.9");
    let (_, status, _) = outcome(&run(&folder, &["tune", "status", "--journal", "none", "--json"]));
    let status = json(&status);
    let mut running = status["connections"].as_array().expect("a list").iter();
    let ours = running.find(|one| one["pid"] == tuning.0.id()).expect("it is shown");
    assert_eq!((&ours["attached"], &ours["arguments"][1]), (&true.into(), &group.path().into()), "{ours}");
    assert!(ours["since"].as_u64().is_some_and(|since| (now - 1..now + 60).contains(&since)), "{ours} {now}");
    let out = end(tuning);
    let document = json(&out);
    assert_eq!(document["schema"], "slowpath/tune-connections/1");
    // The accepting end of a connection of this host to itself has another address as its remote one: its own.
    assert_eq!(document["connections"], 6, "{out}");
    assert_eq!((&document["prefixes"], &document["learned"]), (&3.into(), &2.into()), "{out}");
    let settings = document["settings"].as_array().expect("settings");
    let of = |option: &str| settings.iter().find(|setting| setting["option"] == option).expect("a setting");
    // 250 KB of path need more than 128 KiB of buffer, at the ends that open as at those that accept.
    assert!(of("SO_SNDBUF")["set"].as_u64() >= Some(2), "{out}");
    assert!(of("SO_RCVBUF")["set"].as_u64() >= Some(1), "{out}");
    assert_eq!(of("SO_MAX_PACING_RATE")["set"], 1, "{out}");
    assert_eq!((&document["open_connections"], &document["granted_bytes"]), (&0.into(), &0.into()), "{out}");
}

#[test]
#[ignore = "needs root"]
fn result_in_words_says_what_was_left_alone() {
    let folder = Captures::new();
    let (host, group) = (host(), Group::new("words"));
    let args = [
        "--cgroup",
        group.path(),
        "--to",
        "127.0.0.0/8,send=64KiB,congestion=no-such-one",
        "--connections",
        "1000",
    ];
    let tuning = start(&folder, &host, &args);
    group.connect(&host, "127.0.0.1");
    let out = flat(&end(tuning));
    assert!(out.starts_with("Tuned 0 of 2 connections in "), "{out}");
    assert!(out.contains("SO_SNDBUF: 2 left to the kernel, whose tcp_wmem suffices."), "{out}");
    assert!(out.contains("TCP_CONGESTION: 2 refused."), "{out}");
    assert!(out.contains("Refused 2 times: No such file or directory"), "{out}");
}

#[test]
fn handbook_example_matches_the_output() {
    let (_, wanted) = handbook_example("sockops.md");
    let counts = Counts { seen: 1240, known: 412, tuned: 405, over_memory: 3, ..Counts::default() }
        .with(Setting::Send, Fate::Set, 380)
        .with(Setting::Send, Fate::Cut, 22)
        .with(Setting::Send, Fate::Own, 7)
        .with(Setting::Receive, Fate::Suffices, 409)
        .with(Setting::Congestion, Fate::Set, 3);
    let tuned = Tuned {
        group: "/sys/fs/cgroup/system.slice".into(),
        lasted: Duration::from_secs(7200),
        prefixes: 12,
        known: 11,
        store: Some("/run/slowpath-paths/paths.sock".to_owned()),
        memory: Bytes::new(384 << 20),
        connections: 65_536,
        caps: [Bytes::new(4 << 20); 2],
        counts,
        granted: Granted::default(),
    };
    let mut out = Vec::new();
    connections(&tuned, &Look::new(false, 80), &mut out).expect("it is printed");
    expect_lines(&wanted, &text(&out));
}

#[test]
fn what_cannot_be_tuned_is_refused_before_anything_is_loaded() {
    let folder = Captures::new();
    for (args, why) in [
        (&["--to", "host,send=1MiB"][..], "no prefix"),
        (&["--to", "192.0.2.1/24,send=1MiB"], "write 192.0.2.0/24"),
        (&["--to", "192.0.2.0/24,sned=1MiB"], "sned=1MiB"),
        (&["--to", "192.0.2.0/24,rate=1Gbit/s"], "rtt=TIME"),
        (&["--paths", "/nonexistent/socket"], "/nonexistent/socket"),
        (&["--paths-token-file", "token"], "--paths"),
        (&["--to", "192.0.2.0/24,send=1MiB", "--memory", "1000000GiB"], "memory pressure"),
        (&["--to", "192.0.2.0/24,send=1MiB", "--cgroup", "/nonexistent"], "/nonexistent"),
        (&["--to", "192.0.2.0/24,send=1MiB", "--cgroup", "/proc"], "no control group of version 2"),
    ] {
        let (code, out, err) = outcome(&run(&folder, &[&["tune", "connections"], args].concat()));
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}");
        assert!(flat(&err).contains(why), "{args:?}: {err}");
    }
}

#[test]
fn unit_of_systemd_is_in_order() {
    let unit = include_str!("../../../../tools/systemd/slowpath-connections.service");
    assert!(unit.contains("ExecStart=/usr/local/bin/slowpath tune connections --cgroup "));
    crate::paths::expect_unit("slowpath-connections.service", unit);
}
