//! `slowpath copy`: both ends as programs, with a script in place of ssh that starts the far end on this host.

use crate::captures::Captures;
use crate::paths::Serving;
use crate::{flat, json, outcome, send_signal, slowpath, text};
use slowpath_lab::namespaces::Place;
use slowpath_lab::scratch::Scratch;
use slowpath_lab::settings::Settings;
use slowpath_lab::ssh::{self, Client, Server, Setup};
use slowpath_lab::{testbed, wire};
use slowpath_model::Bytes;
use slowpath_paths::entry::{Entry, Measure, Pair, Source};
use slowpath_paths::store::Store;
use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Kills of either end; `SLOWPATH_KILLS` overrides it.
const KILLS: u64 = 30;
/// The far end ends by itself within this time after the near end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Two hosts, as folders.
struct Hosts(Captures);

impl Hosts {
    fn new() -> Self {
        let hosts = Self(Captures::new());
        fs::create_dir(hosts.there("")).expect("a folder");
        hosts.ssh("");
        hosts
    }

    fn here(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    fn there(&self, name: &str) -> PathBuf {
        self.here("there").join(name)
    }

    /// What is done before the far end starts; it has the other host's folder as its working directory.
    fn ssh(&self, first: &str) {
        let script = format!(
            "#!/bin/sh\n[ \"$1 $2\" = '-- host' ] || exit 9\nshift 2\ncd there || exit 9\n{first}\nexec \"$@\"\n"
        );
        fs::write(self.here("ssh"), script).expect("a file");
        fs::set_permissions(self.here("ssh"), Permissions::from_mode(0o755)).expect("its mode");
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = slowpath(&self.0);
        let program = command.get_program().to_owned();
        command.args(["copy", "--ssh", "./ssh", "--far-program"]).arg(program).args(args);
        command
    }

    fn copy(&self, args: &[&str]) -> (i32, String, String) {
        outcome(&self.output(args))
    }

    fn output(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("the binary runs")
    }

    fn start(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary runs")
    }

    fn write(&self, name: &str, length: usize) -> Vec<u8> {
        let bytes = contents(length, length as u64);
        fs::write(self.here(name), &bytes).expect("a file");
        bytes
    }

    /// What the other host's folder has.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.there("")).expect("a folder").flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// Bytes that no block has twice: xorshift64 (Marsaglia 2003).
fn contents(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        bytes.extend(next(&mut state).to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn file_goes_to_the_other_host_and_back() {
    let hosts = Hosts::new();
    let bytes = hosts.write("file", 5_000_000);
    let (code, out, err) = hosts.copy(&["file", "host:"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.starts_with("Copied 1 file, 4.77 MiB, to host: in "), "{out}");
    assert!(out.contains("\n  Time: ") && out.contains(" streams, buffers up to "), "{out}");
    assert!(fs::read(hosts.there("file")).expect("the copy") == bytes);
    let (code, out, err) = hosts.copy(&["host:file", "back", "--json"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(fs::read(hosts.here("back")).expect("the copy") == bytes);
    let document = json(&out);
    assert_eq!(document["schema"], "slowpath/copy/1");
    assert_eq!((&document["bytes"], &document["complete"]), (&5_000_000.into(), &true.into()));
    let limits = document["limits"].as_array().expect("limits").iter();
    let sum: u64 = limits.map(|limit| limit["permille"].as_u64().expect("a share")).sum();
    assert!((990..=1000).contains(&sum), "{out}");
    let (code, _, err) = hosts.copy(&["host:file", "back"]);
    assert_eq!(code, 2);
    assert!(
        flat(&err).contains("back: exists already; name another destination, or replace it with --force"),
        "{err}"
    );
}

#[test]
fn errors_of_both_ends_are_told() {
    let hosts = Hosts::new();
    hosts.write("file", 10);
    fs::create_dir(hosts.there("folder")).expect("a folder");
    let cases: [(&[&str], &str); 9] = [
        (&["none", "host:"], "slowpath: none: No such file"),
        (&["host:none", "."], "slowpath: the far end: none: No such file"),
        (&["file", "host:none/file"], "the far end: none: No such file"),
        (&["file", "other"], "one of source and destination has to be on another host"),
        (&["host:file", "host:other"], "one of source and destination has to be on another host"),
        (&["file", "-oProxyCommand=x:y"], "Usage"),
        (&["--", "file", "-oProxyCommand=x:y"], "is no host: it begins with a dash"),
        (&["file", "slowpath://127.0.0.1:1/file"], "is `slowpath copy --serve` running there"),
        (&["/dev/null", "host:"], "a device, which is not copied"),
    ];
    for (args, part) in cases {
        let (code, _, err) = hosts.copy(args);
        assert_eq!(code, 2, "{args:?}: {err}");
        assert!(err.contains(part), "{args:?}: {err}");
    }
    let (code, _, err) = hosts.copy(&["--congestion", "none-such", "file", "host:"]);
    assert!(code == 2 && err.contains("tcp_available_congestion_control"), "{err}");
    hosts.ssh("exit 255");
    let (code, _, err) = hosts.copy(&["file", "host:"]);
    assert!(code == 2 && err.contains("is slowpath installed there?"), "{err}");
    hosts.ssh("printf 'no \\033[2J host\\n' >&2; exit 255");
    let (_, _, err) = hosts.copy(&["file", "host:"]);
    assert!(err.contains("slowpath: no \\u{1b}[2J host\n"), "{err}");
    assert_eq!(hosts.names(), ["folder"]);
}

#[test]
fn source_that_changes_is_reported() {
    let hosts = Hosts::new();
    hosts.write("file", 3_000_000);
    // The source is listed before the far end is there.
    hosts.ssh("echo starting >&2; while [ ! -e ../changed ]; do sleep 0.05; done");
    let change = |length: u64| {
        let mut child = hosts.start(&["file", "host:copy"]);
        let mut err = BufReader::new(child.stderr.take().expect("it was asked for"));
        let mut line = String::new();
        err.read_line(&mut line).expect("a line");
        assert_eq!(line, "slowpath: starting\n");
        let file = fs::OpenOptions::new().write(true).open(hosts.here("file")).expect("the file");
        file.set_len(length).expect("its length");
        fs::write(hosts.here("changed"), "").expect("a file");
        let code = child.wait().expect("it ends").code();
        fs::remove_file(hosts.here("changed")).expect("it is there");
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut err, &mut rest).expect("text");
        (code, rest)
    };
    assert_eq!(change(3_000_001).0, Some(1), "as long as it was when it was listed");
    assert_eq!(fs::read(hosts.there("copy")).expect("the copy").len(), 3_000_000);
    fs::remove_file(hosts.there("copy")).expect("it is there");
    let (code, err) = change(100);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("nothing was copied: it became shorter while it was copied"), "{err}");
    assert!(!hosts.there("copy").exists());
}

#[test]
fn what_is_skipped_is_reported_with_its_name_escaped() {
    let hosts = Hosts::new();
    fs::create_dir(hosts.here("tree")).expect("a folder");
    fs::write(hosts.here("tree/file"), "file").expect("a file");
    symlink("/etc/passwd", hosts.here("tree/\x1b[2Jlink\n")).expect("a link");
    let (code, out, err) = hosts.copy(&["tree", "host:"]);
    assert_eq!((code, err.as_str()), (1, ""), "{out}");
    assert!(
        out.contains("Not copied\n  \\u{1b}[2Jlink\\u{a}: a symbolic link, which is not copied\n"),
        "{out}"
    );
    assert_eq!(fs::read(hosts.there("tree/file")).expect("the copy"), b"file");
}

#[test]
fn file_too_large_for_the_far_host_is_an_error_and_what_arrived_is_kept() {
    let hosts = Hosts::new();
    let bytes = hosts.write("file", 20_000_000);
    // 16,384 units of 512 bytes; without the signal, write(2) fails.
    hosts.ssh("trap '' XFSZ; ulimit -f 16384");
    let (code, _, err) = hosts.copy(&["file", "host:copy"]);
    assert_eq!(code, 2, "{err}");
    assert!(flat(&err).contains("copy: File too large (os error 27); what arrived is kept"), "{err}");
    let names = hosts.names();
    assert!(names.len() == 1 && names[0].starts_with(".slowpath-partial-"), "{names:?}");
    hosts.ssh("");
    let (code, out, err) = hosts.copy(&["file", "host:copy"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains(" had arrived before and were kept."), "{out}");
    assert!(fs::read(hosts.there("copy")).expect("the copy") == bytes);
    assert_eq!(hosts.names(), ["copy"]);
}

/// A file system of 8 MiB, in a mount namespace of its own.
#[test]
#[ignore = "needs root, waits"]
fn full_disk_is_known_before_anything_moves() {
    let hosts = Hosts::new();
    hosts.write("file", 20_000_000);
    hosts.write("small", 5_000_000);
    let mount = "mount --make-rprivate / && mount -t tmpfs -o size=8m tmpfs . && cd .";
    let script = format!(
        "#!/bin/sh\nshift 2\ncd there\nexec unshare --mount sh -c '{mount} && exec \"$@\"' sh \"$@\"\n"
    );
    fs::write(hosts.here("ssh"), script).expect("a file");
    let (code, _, err) = hosts.copy(&["file", "host:copy"]);
    assert_eq!(code, 2, "{err}");
    assert!(flat(&err).contains("copy: 19.1 MiB are needed and the disk has "), "{err}");
    let (code, out, err) = hosts.copy(&["small", "host:copy"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
}

#[test]
fn ctrl_c_stops_both_ends_and_the_same_command_continues() {
    let hosts = Hosts::new();
    let bytes = hosts.write("file", 60_000_000);
    let mut child = hosts.start(&["--streams", "1", "file", "host:copy"]);
    let until = Instant::now() + PATIENCE;
    while hosts.names().is_empty() && Instant::now() < until {
        sleep(Duration::from_millis(1));
    }
    send_signal(&child, libc::SIGINT);
    let code = child.wait().expect("it ends").code();
    if code == Some(2) {
        assert!(!hosts.there("copy").exists());
        let (code, out, err) = hosts.copy(&["file", "host:copy"]);
        assert_eq!((code, err.as_str()), (0, ""), "{out}");
    }
    assert!(fs::read(hosts.there("copy")).expect("the copy") == bytes);
    assert_eq!(hosts.names(), ["copy"]);
}

/// The far end of a near end: its child, which the script in place of ssh has become.
fn child_of(process: u32) -> Option<i32> {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}

fn is_gone(process: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
}

#[test]
fn kill_of_either_end_at_any_time_leaves_the_destination_absent_or_whole() {
    let hosts = Hosts::new();
    let bytes = hosts.write("file", 40_000_000);
    let kills = std::env::var("SLOWPATH_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let began = Instant::now();
    let (code, _, err) = hosts.copy(&["file", "host:copy"]);
    assert_eq!(code, 0, "{err}");
    let whole = began.elapsed();
    fs::remove_file(hosts.there("copy")).expect("it is there");
    let (mut state, mut interrupted) = (0x51a7, 0);
    for kill in 0..kills {
        let after = whole.mul_f64((next(&mut state) % 1000) as f64 / 1000.0);
        let kills_far = next(&mut state).is_multiple_of(2);
        let mut child = hosts.start(&["file", "host:copy"]);
        sleep(after);
        let far = child_of(child.id());
        match far {
            Some(far) if kills_far => {
                // SAFETY: a signal to a process of this test's own, which its parent has not waited for.
                unsafe { libc::kill(far, libc::SIGKILL) };
            }
            _ => child.kill().expect("it is a child"),
        }
        let status = child.wait().expect("it ends");
        let until = Instant::now() + PATIENCE;
        while let Some(far) = far
            && !is_gone(far)
        {
            assert!(Instant::now() < until, "kill {kill}: the far end goes on alone");
            sleep(Duration::from_millis(5));
        }
        match fs::read(hosts.there("copy")) {
            Ok(copy) => {
                assert!(copy == bytes, "kill {kill} after {after:?}, far {kills_far}: the copy differs");
                fs::remove_file(hosts.there("copy")).expect("it is there");
            }
            Err(_) => {
                interrupted += 1;
                assert!(!status.success(), "kill {kill}: it says that it succeeded");
            }
        }
    }
    assert!(interrupted > kills / 4, "only {interrupted} copies were interrupted");
    let (code, out, err) = hosts.copy(&["file", "host:copy"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(fs::read(hosts.there("copy")).expect("the copy") == bytes);
    assert_eq!(hosts.names(), ["copy"], "nothing else is left");
}

#[test]
fn served_folder_needs_the_token_that_it_prints() {
    let hosts = Hosts::new();
    let bytes = hosts.write("file", 2_000_000);
    let mut server = slowpath(&hosts.0);
    server.args(["copy", "--serve", "--listen", "127.0.0.1:0", "--folder", "there"]).stdout(Stdio::piped());
    let mut server = server.spawn().expect("the binary runs");
    let mut out = BufReader::new(server.stdout.take().expect("it was asked for")).lines();
    let first = out.next().expect("a line").expect("text");
    let port: String = first
        .split_once("127.0.0.1:")
        .expect("an address")
        .1
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    let token = out.next().expect("a line").expect("text");
    let token = token.strip_prefix("Token: ").expect("a token");
    let to = format!("slowpath://127.0.0.1:{port}/copy");
    let copies = |token: &str, mode| {
        fs::write(hosts.here("token"), token).expect("a file");
        fs::set_permissions(hosts.here("token"), Permissions::from_mode(mode)).expect("its mode");
        hosts.copy(&["--token-file", "token", "file", &to])
    };
    let (code, _, err) = copies(token, 0o644);
    assert!(code == 2 && err.contains("others may read or write it; `chmod 600` it"), "{err}");
    let (code, _, err) = copies("0123456789abcdef0123456789abcdee", 0o600);
    assert!(code == 2 && err.contains("is it the token of that server?"), "{err}");
    assert_eq!(hosts.names(), [""; 0]);
    let (code, _, err) = copies(&format!("{token}\n"), 0o600);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(fs::read(hosts.there("copy")).expect("the copy") == bytes);
    let streams = |args: &[&str]| {
        let (code, out, err) =
            hosts.copy(&[args, &["--json", "--force", "--token-file", "token", &to]].concat());
        (code, if code == 0 { json(&out)["streams"].as_u64() } else { panic!("{out}{err}") }, err)
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let pair = Pair::new([127, 0, 0, 1].into(), [127, 0, 0, 1].into());
    let entry = |measure, value| Entry::new(pair, now, Source::Probe, measure, value);
    let entries = [entry(Measure::RttMin, 10_000_000), entry(Measure::Available, 10_000_000)];
    Store::open(&hosts.here("paths.db")).expect("a store").record(&entries, now).expect("recorded");
    let serving = Serving::start(&hosts.0);
    let store = serving.place.to_string();
    let known = streams(&["--paths", &store, "file"]);
    assert_eq!(known, (0, Some(1), String::new()), "a window of 12.5 kB is enough");
    let learned = Store::open(&hosts.here("paths.db")).expect("a store").entries(pair).expect("values");
    let mut learned = learned.iter().filter(|entry| entry.source == Source::Live);
    let is_rate = |entry: &Entry| matches!(entry.measure, Measure::Delivered | Measure::Available);
    assert!(learned.any(is_rate), "what the copy showed");
    // Streams that are open before the last byte has left are counted: it takes them some time.
    let long = File::create(hosts.here("long")).expect("a file");
    long.set_len(256 << 20).expect("a length");
    let (code, streams, err) = streams(&["--paths", "/nonexistent/socket", "long"]);
    assert!(code == 0 && streams >= Some(4), "{streams:?}");
    assert!(err.contains("the path store is not used: /nonexistent/socket"), "{err}");
    send_signal(&server, libc::SIGINT);
    assert!(server.wait().expect("it ends").success());
    let rest: Vec<String> = out.map_while(Result::ok).collect();
    assert_eq!(rest.last().map(String::as_str), Some("127.0.0.1: copied"), "{rest:?}");
}

/// OpenSSH's client and server, each in a network namespace: the far end listens where ssh has reached it.
#[test]
#[ignore = "needs root, waits"]
fn copy_over_openssh_between_two_hosts() {
    let hosts = Hosts::new();
    let bytes = hosts.write("file", 8_000_000);
    let (namespaces, _) = testbed::build(&Settings::plain()).expect("as root");
    wire::bridge(&namespaces).expect("a bridge");
    let scratch = Scratch::create().expect("a folder");
    let setup = Setup::create(&scratch).expect("keys");
    let copy = ssh::Copy { client: Client::Scp, server: Server::OpenSsh, amount: Bytes::new(1) };
    let serves = setup.programs(copy).expect("a file").server;
    let mut sshd = namespaces.command(Place::Receiver, "sh");
    let mut sshd = sshd.args(["-c", &serves]).stderr(Stdio::null()).spawn().expect("sh");
    let config = scratch.file("ssh").join("ssh.conf");
    let to = format!("192.0.2.2:{}", hosts.there("copy").display());
    let program = slowpath(&hosts.0).get_program().to_owned();
    let copies = || {
        let mut near = namespaces.command(Place::Sender, program.to_str().expect("text"));
        near.current_dir(hosts.here("")).args(["copy", "--ssh", &format!("ssh -F {}", config.display())]);
        near.arg("--far-program").arg(&program).args(["file", &to]).output().expect("the binary runs")
    };
    // The server may not listen yet.
    let until = Instant::now() + PATIENCE;
    let output = loop {
        let output = copies();
        if output.status.success() || Instant::now() > until {
            break output;
        }
        sleep(Duration::from_millis(200));
    };
    sshd.kill().expect("it runs");
    sshd.wait().expect("it ends");
    let (code, out, err) = outcome(&output);
    assert_eq!(code, 0, "{out}{err}");
    assert!(fs::read(hosts.there("copy")).expect("the copy") == bytes);
}

#[test]
fn copy_help() {
    let hosts = Hosts::new();
    let output = slowpath(&hosts.0).args(["copy", "--help"]).output().expect("the binary runs");
    insta::assert_snapshot!(text(&output.stdout));
    assert!(Path::new(&hosts.here("ssh")).exists());
}
