//! `slowpath paths`: the store from the command line, its server under `kill -9`, and a path of the lab that is measured.

use crate::captures::{Captures, transfer};
use crate::probe::FarEnd;
use crate::{expect_lines, handbook_example, json, outcome, run, slowpath, text};
use serde_json::Value;
use slowpath_paths::client::{Place, Report, ask, report};
use slowpath_paths::entry::{Entry, Measure, Pair, Source};
use slowpath_paths::store::{FILE, Question, Store};
use slowpath_paths::{PORT, SOCKET};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs()
}

fn pair() -> Pair {
    Pair::new([192, 0, 2, 1].into(), [192, 0, 2, 2].into())
}

/// A store with these values of one path, each so many seconds old.
fn stored(folder: &Captures, values: &[(Measure, u64, u64)]) {
    let now = now();
    let entry = |&(measure, value, age): &(Measure, u64, u64)| {
        Entry::new(pair(), now - age, Source::Probe, measure, value)
    };
    let mut store = Store::open(&folder.path("paths.db")).expect("a store");
    store.record(&values.iter().map(entry).collect::<Vec<_>>(), now).expect("recorded");
}

/// The path of the handbook's example.
const EXAMPLE: [(Measure, u64, u64); 6] = [
    (Measure::RttMin, 40_100_000, 750),
    (Measure::Rtt, 40_400_000, 750),
    (Measure::Capacity, 940_000_000, 750),
    (Measure::Available, 612_000_000, 750),
    (Measure::Loss, 120_000, 9000),
    (Measure::Mtu, 1500, 750),
];

#[test]
fn handbook_example_matches_the_output() {
    let folder = Captures::new();
    stored(&folder, &EXAMPLE);
    let (mut args, wanted) = handbook_example("paths.md");
    args.extend(["--store".to_owned(), "paths.db".to_owned()]);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (code, out, err) = outcome(&run(&folder, &args));
    assert_eq!((code, err.as_str()), (0, ""));
    expect_lines(&wanted, &out);
}

#[test]
fn answers_history_and_forgetting_agree() {
    let folder = Captures::new();
    stored(&folder, &EXAMPLE);
    stored(&folder, &[(Measure::RttMin, 39_900_000, 90_000)]);
    let document = |args: &[&str]| -> Value {
        let args = [&["paths"], args, &["--store", "paths.db", "--json"]].concat();
        let (code, out, err) = outcome(&run(&folder, &args));
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
        json(&out)
    };
    let shown = document(&["show", "192.0.2.2", "--streams", "4"]);
    assert_eq!(shown["schema"], "slowpath/paths-show/1");
    let path = &shown["paths"][0];
    assert_eq!(
        (path["rate_bit_per_s"].as_u64(), path["rate_basis"].as_str()),
        (Some(612_000_000), Some("available"))
    );
    assert_eq!((path["rtt_ns"].as_u64(), path["streams"].as_u64()), (Some(40_100_000), Some(4)));
    let product = 612_000_000 / 8 * 401 / 10_000;
    assert!(
        path["buffers"]["product_bytes"].as_u64().is_some_and(|bytes| bytes.abs_diff(product) < 2),
        "{path}"
    );
    let loss = path["values"].as_array().expect("values").iter().find(|value| value["measure"] == "loss");
    assert_eq!(
        loss.map(|loss| (&loss["trusted"], &loss["unit"])),
        Some((&Value::Bool(false), &"ppb".into()))
    );
    assert_eq!(document(&["show"])["paths"][0]["to"], "192.0.2.2");
    let advised = json(
        &outcome(&run(
            &folder,
            &["tune", "advise", "--rate", "612Mbit/s", "--rtt", "40.1ms", "--streams", "4", "--json"],
        ))
        .1,
    );
    assert_eq!(path["buffers"]["receive_bytes"], advised["receive"]["limit_bytes"]);
    assert_eq!(path["buffers"]["ask_send_bytes"], advised["send"]["ask_bytes"]);
    let history = document(&["history", "192.0.2.2"]);
    assert_eq!(history["paths"][0]["values"].as_array().map(Vec::len), Some(7));
    let (_, out, _) = outcome(&run(&folder, &["paths", "history", "192.0.2.2", "--store", "paths.db"]));
    assert!(out.contains("7 values") && out.contains("was trusted until"), "{out}");
    assert_eq!(document(&["forget", "192.0.2.2"])["forgotten"][0]["from"], "192.0.2.1");
    assert_eq!(document(&["show"])["paths"].as_array().map(Vec::len), Some(0));
}

#[test]
fn unknown_paths_stores_and_servers_are_errors() {
    let folder = Captures::new();
    for (args, says) in [
        (&["show"][..], "paths.db: there is no path store"),
        (&["history", "192.0.2.2"], "there is no path store"),
        (&["forget", "192.0.2.2"], "there is no path store"),
        (&["import", "missing.pcap"], "missing.pcap"),
        (&["import", "scenario.toml"], "a scenario is no path"),
        (&["measure", "127.0.0.1", "--port", "1"], "no answer"),
        (&["measure", "127.0.0.1", "--bytes", "0B"], "at least 1B"),
        (&["serve", "--listen", "0.0.0.0:0", "--socket", "s"], "--token-file"),
        (&["serve", "--token-file", "missing"], "missing"),
    ] {
        let args = [&["paths"], args, &["--store", "paths.db"]].concat();
        let (code, out, err) = outcome(&run(&folder, &args));
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(err.contains(says), "{args:?}: {err}");
        let _ = std::fs::remove_file(folder.path("paths.db"));
    }
    folder.write("paths.db", &b"no database at all, and long enough to be one ".repeat(100));
    let (code, _, err) = outcome(&run(&folder, &["paths", "show", "--store", "paths.db"]));
    assert!(code == 2 && err.contains("paths.db: file is not a database"), "{err}");
    let (code, _, err) = outcome(&run(&folder, &["paths", "show", "192.0.2.2", "--ask", "/nowhere/socket"]));
    assert!(code == 2 && err.contains("/nowhere/socket: no answer"), "{err}");
}

/// A capture as if it was made some minutes ago.
fn recent(mut capture: Vec<u8>) -> Vec<u8> {
    let (mut at, since) = (24, u32::try_from(now() - 600).expect("before 2106"));
    while let Some(head) = capture.get(at..at + 16) {
        let number = |from: usize| u32::from_le_bytes(head[from..from + 4].try_into().expect("four bytes"));
        let (seconds, length) = (number(0) + since, number(8) as usize);
        capture[at..at + 4].copy_from_slice(&seconds.to_le_bytes());
        at += 16 + length;
    }
    capture
}

#[test]
fn captures_are_learned_from_and_old_ones_are_not_kept() {
    let folder = Captures::new();
    folder.write("old.pcap", &transfer(200));
    folder.write("new.pcap", &recent(transfer(200)));
    for _ in 0..2 {
        let args = ["paths", "import", "old.pcap", "new.pcap", "--store", "paths.db"];
        let (code, out, err) = outcome(&run(&folder, &args));
        assert_eq!(
            (code, err.as_str()),
            (2, "slowpath: old.pcap: does not say when it was made, so its values have no date\n"),
            "{out}"
        );
        let args = ["paths", "import", "new.pcap", "--store", "paths.db", "--json"];
        let (code, out, err) = outcome(&run(&folder, &args));
        assert_eq!((code, err.as_str()), (0, ""));
        let file = json(&out)["files"][0].clone();
        assert_eq!((file["flows"].as_u64(), &file["kept"]), (Some(1), &file["values"]));
    }
    let (_, out, _) =
        outcome(&run(&folder, &["paths", "show", "198.51.100.7", "--store", "paths.db", "--json"]));
    let path = json(&out)["paths"][0].clone();
    // 10,720 bytes every 20 ms, which the window limits and not the path.
    assert!(path["rtt_ns"].as_u64().is_some_and(|rtt| rtt.abs_diff(20_000_000) < 100_000), "{path}");
    assert_eq!(path["rate_basis"], "delivered");
    assert!(path["rate_bit_per_s"].as_u64().is_some_and(|rate| rate.abs_diff(4_288_000) < 100_000), "{path}");
    let (_, out, _) = outcome(&run(&folder, &["paths", "show", "198.51.100.7", "--store", "paths.db"]));
    assert!(out.starts_with("192.0.2.1 → 198.51.100.7: expect at least 4.2"), "{out}");
}

/// A server in a process of its own.
pub(super) struct Serving {
    child: Child,
    pub(super) place: Place,
}

impl Serving {
    pub(super) fn start(folder: &Captures) -> Self {
        Self::start_with(folder, &[])
    }

    fn start_with(folder: &Captures, more: &[&str]) -> Self {
        let socket = folder.path("socket");
        let args = ["paths", "serve", "--store", "paths.db", "--listen", "127.0.0.1:0", "--socket"];
        let mut command = slowpath(folder);
        command.args(args).arg(&socket).args(more).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let out = BufReader::new(child.stdout.take().expect("it was asked for"));
        let said: Vec<String> = out.lines().take(2).map_while(Result::ok).collect();
        assert!(said.len() == 2 && said[1].starts_with("Listening on "), "{said:?}");
        Self { child, place: Place::Unix(socket) }
    }

    fn kill(&mut self) {
        // After a test has done so, it fails.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.kill();
    }
}

#[test]
fn command_asks_a_server() {
    let folder = Captures::new();
    stored(&folder, &EXAMPLE);
    let serving = Serving::start(&folder);
    let place = serving.place.to_string();
    let (code, out, err) = outcome(&run(&folder, &["paths", "show", "192.0.2.2", "--ask", &place]));
    assert_eq!((code, err.as_str()), (0, ""));
    let (_, stored, _) = outcome(&run(&folder, &["paths", "show", "192.0.2.2", "--store", "paths.db"]));
    assert_eq!(out, stored);
    let (code, _, err) = outcome(&run(&folder, &["paths", "show", "192.0.2.9", "--ask", &place]));
    assert!(code == 2 && err.contains("nothing is known of a path to 192.0.2.9"), "{err}");
}

#[test]
fn server_measures_a_path_by_itself() {
    let folder = Captures::new();
    let far = FarEnd::small(&folder);
    let serving = Serving::start_with(&folder, &["--measure", &format!("127.0.0.1:{}", far.port())]);
    let here = IpAddr::from([127, 0, 0, 1]);
    let question = Question { to: vec![here], ..Question::default() };
    let until = Instant::now() + Duration::from_secs(60);
    let measured = loop {
        let answer = ask(&serving.place, &question, None).expect("it answers");
        if let Some(value) = answer.and_then(|answer| answer.value(Measure::RttMin).copied()) {
            break value;
        }
        assert!(Instant::now() < until, "nothing was measured");
        thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(measured.source, Source::Probe);
}

/// One transfer on loopback while `paths import --live` watches.
#[test]
#[ignore = "needs root, waits"]
fn running_transfers_are_learned_from() {
    let folder = Captures::new();
    let mut command = slowpath(&folder);
    let args = "paths import --live --for 3s --every 1s --store paths.db --json";
    let child = command.args(args.split(' ')).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.expect("it runs");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut out = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
    let (mut into, _) = listener.accept().expect("a connection");
    let began = Instant::now();
    thread::scope(|scope| {
        scope.spawn(move || io::copy(&mut into, &mut io::sink()).expect("all of it"));
        let piece = [0; 65_536];
        while began.elapsed() < Duration::from_secs(3) {
            out.write_all(&piece).expect("it is read");
            thread::sleep(Duration::from_millis(2));
        }
        drop(out);
    });
    let (code, text, err) = outcome(&child.wait_with_output().expect("it ends"));
    assert_eq!(code, 0, "{err}");
    let learned = &json(&text)["files"][0];
    assert!(learned["file"].is_null() && learned["flows"].as_u64() >= Some(1), "{learned}");
    let history = ["paths", "history", "127.0.0.1", "--store", "paths.db", "--json"];
    let (_, text, _) = outcome(&run(&folder, &history));
    for measure in ["rtt-min", "delivered"] {
        assert!(text.contains(&format!("\"{measure}\"")) && text.contains("\"live\""), "{text}");
    }
}

/// Kills; `SLOWPATH_KILLS=1000` overrides it.
const KILLS: u64 = 50;

/// The path of the batch of this number.
fn batch(number: u32) -> Pair {
    Pair::new([192, 0, 2, 1].into(), IpAddr::from(Ipv4Addr::from_bits(0x0a00_0000 + number)))
}

/// Values that are recorded all together, or not at all.
const BATCH: usize = Measure::ALL.len();

#[test]
fn values_that_were_acknowledged_survive_kills_in_the_middle_of_writes() {
    let folder = Captures::new();
    let kills = std::env::var("SLOWPATH_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(KILLS);
    let (mut next, mut acknowledged, mut cut) = (0, Vec::new(), 0);
    for kill in 0..kills {
        let mut serving = Serving::start(&folder);
        let (place, first) = (serving.place.clone(), next);
        let sent = AtomicU32::new(first);
        let (acknowledge, first_one) = mpsc::channel();
        let got = thread::scope(|scope| {
            let sent = &sent;
            let writing = scope.spawn(move || {
                let mut got = Vec::new();
                loop {
                    let number = sent.fetch_add(1, Ordering::Relaxed);
                    let entry = |measure: Measure| {
                        Entry::new(batch(number), now(), Source::Live, measure, *measure.range().end())
                    };
                    let entries = Measure::ALL.map(entry).to_vec();
                    match report(&place, &Report { entries }, None) {
                        Ok(kept) => {
                            got.push((number, kept));
                            let _ = acknowledge.send(());
                        }
                        Err(_) => return got,
                    }
                }
            });
            // However slow the machine is, it had begun to write.
            first_one.recv().expect("a batch is acknowledged");
            // Spread over the time of some writes; the same times in each run.
            thread::sleep(Duration::from_micros(kill * 7919 % 40_000));
            serving.kill();
            writing.join().expect("it ends")
        });
        assert!(got.iter().all(|(_, kept)| *kept == BATCH), "{got:?}");
        acknowledged.extend(got.iter().map(|(number, _)| *number));
        next = sent.load(Ordering::Relaxed);
        let store = Store::open_existing(&folder.path("paths.db")).expect("the store opens after a kill");
        for number in first..next {
            let values = store.entries(batch(number)).expect("it can be read").len();
            assert!(values == 0 || values == BATCH, "batch {number} is there in part: {values}");
            let is_acknowledged = acknowledged.contains(&number);
            assert!(values == BATCH || !is_acknowledged, "batch {number} was acknowledged and is gone");
            cut += usize::from(!is_acknowledged);
        }
        // The connection is closed before the next server opens the store.
        drop(store);
    }
    let database = rusqlite::Connection::open(folder.path("paths.db")).expect("the database");
    let well: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("checked");
    assert_eq!(well, "ok");
    assert!(
        cut as u64 >= kills && acknowledged.len() as u64 >= kills,
        "{cut} cut, {} written",
        acknowledged.len()
    );
    let mut store = Store::open_existing(&folder.path("paths.db")).expect("the store");
    assert!(
        acknowledged.iter().all(|number| store.entries(batch(*number)).is_ok_and(|all| all.len() == BATCH))
    );
    assert_eq!(store.forget(&[batch(acknowledged[0])]).expect("it can be written"), 1);
}

#[test]
fn command_writes_while_a_server_runs() {
    let folder = Captures::new();
    folder.write("new.pcap", &recent(transfer(200)));
    stored(&folder, &EXAMPLE);
    let serving = Serving::start(&folder);
    let question = Question { to: vec![[198, 51, 100, 7].into()], ..Question::default() };
    assert_eq!(ask(&serving.place, &question, None).expect("an answer"), None);
    let (code, _, err) = outcome(&run(&folder, &["paths", "import", "new.pcap", "--store", "paths.db"]));
    assert_eq!((code, err.as_str()), (0, ""));
    let answer = ask(&serving.place, &question, None).expect("an answer").expect("it is known now");
    assert!(answer.value(Measure::Delivered).is_some_and(|value| value.source == Source::Capture));
}

/// The unit starts the program as it is, in the folders that the program expects.
#[test]
fn unit_of_systemd_is_in_order() {
    let unit = include_str!("../../../../tools/systemd/slowpath-paths.service");
    let value = |key: &str| {
        let line = unit.lines().find_map(|line| line.strip_prefix(&format!("{key}=")));
        line.unwrap_or_else(|| panic!("no {key}"))
    };
    assert!(FILE.starts_with(&format!("/var/lib/{}/", value("StateDirectory"))));
    assert!(SOCKET.starts_with(&format!("/run/{}/", value("RuntimeDirectory"))));
    assert_eq!(value("SocketBindAllow"), format!("ipv4:tcp:{PORT}"));
    assert_eq!(value("ExecStart"), "/usr/local/bin/slowpath paths serve");
    expect_unit("slowpath-paths.service", unit);
}

/// Asserts that systemd takes a unit as it is, with this program in place of the installed one.
pub(super) fn expect_unit(name: &str, unit: &str) {
    let folder = Captures::new();
    let binary = slowpath(&folder).get_program().to_string_lossy().into_owned();
    let here = unit.replace("/usr/local/bin/slowpath", &binary).replace("Documentation=man:", "# ");
    let file = folder.write(name, here.as_bytes());
    let Ok(verified) = Command::new("systemd-analyze").arg("verify").arg(&file).output() else {
        println!("not judged: unit_of_systemd_is_in_order ({name}): systemd-analyze is not installed");
        return;
    };
    assert!(verified.status.success() && verified.stderr.is_empty(), "{}", text(&verified.stderr));
}

mod lab {
    //! A path of the lab.

    use super::*;
    use slowpath_lab::namespaces::Place as Namespace;
    use slowpath_lab::relay::Relay;
    use slowpath_lab::settings::Settings;
    use slowpath_lab::testbed;
    use slowpath_model::Rate;
    use slowpath_path::PathConfig;
    use slowpath_path::link::{LinkConfig, QueueLimit};

    const MBIT: u64 = 1_000_000;
    const MS: u64 = 1_000_000;
    /// The truth.
    const RATE: u64 = 50 * MBIT;
    const RTT: u64 = 20 * MS;
    /// Other work on this machine makes a measurement worse: one of this many has to be precise.
    const ATTEMPTS: usize = 3;

    #[test]
    #[ignore = "needs root, waits"]
    fn measured_path_answers_rtt_and_rate_close_to_the_truth() {
        let folder = Captures::new();
        let settings = Settings::plain();
        let (namespaces, hosts) = testbed::build(&settings).expect("as root");
        let link = LinkConfig {
            rate: Rate::bits_per_second(RATE),
            queue: QueueLimit::Packets(1000),
            stalls: vec![],
        };
        let way =
            PathConfig { link: Some(link), delay: Duration::from_nanos(RTT / 2), ..PathConfig::default() };
        let relay = Relay::open(&namespaces, testbed::ways(&settings, [&way, &way], [1, 2])).expect("a path");
        let inside = |place, args: &[&str]| {
            let mut command = namespaces.command(place, env!("CARGO_BIN_EXE_slowpath"));
            command.args(args).current_dir(folder.path("")).env("NO_COLOR", "1");
            command
        };
        let receiver = hosts.receiver.to_string();
        let shown = relay.during(|| {
            let listen = format!("{receiver}:5717");
            let mut far = inside(Namespace::Receiver, &["probe", "--serve", "--listen", &listen]);
            let mut far = far.stdout(Stdio::piped()).spawn().expect("it runs");
            let mut line = String::new();
            BufReader::new(far.stdout.take().expect("asked for")).read_line(&mut line).expect("a line");
            let mut shown = Vec::new();
            for _ in 0..ATTEMPTS {
                let measure = ["paths", "measure", &receiver, "--store", "paths.db", "--json"];
                let measured = inside(Namespace::Sender, &measure).output().expect("it runs");
                let show = ["paths", "show", &receiver, "--store", "paths.db", "--json"];
                let answer = inside(Namespace::Sender, &show).output().expect("it runs");
                shown.push((outcome(&measured), outcome(&answer)));
                if is_close(&shown[shown.len() - 1].1.1) {
                    break;
                }
            }
            // The budget holds: what is left of it was measured, and no more is sent.
            let measure = ["paths", "measure", &receiver, "--store", "paths.db", "--bytes", "1MiB"];
            let refused = inside(Namespace::Sender, &measure).output().expect("it runs");
            let _ = far.kill();
            let _ = far.wait();
            (shown, outcome(&refused))
        });
        let (shown, (code, _, err)) = shown;
        let (measured, answer) = &shown[shown.len() - 1];
        assert_eq!(measured.0, 0, "{measured:?}");
        assert!(is_close(&answer.1), "{shown:#?}");
        let cost = &json(&measured.1)["cost_bytes"];
        println!("cost {cost} bytes, {} ns", json(&measured.1)["cost_ns"]);
        assert!(cost.as_u64().is_some_and(|bytes| (1_000_000..100_000_000).contains(&bytes)), "{cost}");
        assert!(code == 2 && err.contains("today's budget of 1 MiB and 300 s is used up"), "{err}");
    }

    /// Whether an answer has the RTT within 0.5 ms, and capacity and rate within a tenth.
    fn is_close(text: &str) -> bool {
        let document: Value = serde_json::from_str(text).unwrap_or_default();
        let path = &document["paths"][0];
        let value = |name: &str| {
            let values = path["values"].as_array().into_iter().flatten();
            let of = values.filter(|value| value["measure"] == name);
            of.filter_map(|value| value["value"].as_u64()).next().unwrap_or(0)
        };
        let near = |rate: u64| rate.abs_diff(RATE) * 10 < RATE;
        let is_near = near(value("capacity")) && near(path["rate_bit_per_s"].as_u64().unwrap_or(0));
        is_near && path["rtt_ns"].as_u64().unwrap_or(0).abs_diff(RTT) < MS / 2 && value("mtu") == 1500
    }
}
