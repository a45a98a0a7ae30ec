//! Hostile names: whatever a file, a scenario, an argument or another process is called, the output contains nothing
//! that a terminal, a browser or an XML reader would interpret.

use crate::captures::{self, Captures};
use crate::{json, live, outcome, run, slowpath};
use proptest::prelude::*;
use serde_json::Value;
use slowpath_probe::protocol::Message;
use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::ffi::OsStringExt;
use std::{fs, io, thread};

/// What no output may contain, at least one of each kind: C0, DEL, C1, bidirectional controls, separators, invisible
/// characters, tags, styles such as slowpath's own, markup, and a line that looks like slowpath's output.
pub const HOSTILE: &str = "\x1b]0;title\x07\x08\r\x7f\u{85}\u{9b}2J\u{202e}\u{2066}\u{2069}\u{200e}\u{200f}\u{61c}\u{2028}\
    \u{2029}\u{200b}\u{feff}\u{e0041}\x1b[31mred\"'<script>&]]></script><!--\nFORGED: 1";

/// A part of it as it appears in text and in JSON.
const ESCAPED: [&str; 2] = [r"\u{9b}2J", r"\u009b2J"];

/// A place where a name enters: the files that contain it, and the commands that show it.
struct Place {
    what: &'static str,
    /// Writes the files, and returns the arguments of each command.
    prepare: fn(&Captures, &str) -> Vec<Vec<OsString>>,
}

/// All places that need only files and arguments. Names from other processes and hosts are tested below and, for the
/// lab, in `programs.rs`.
const PLACES: &[Place] = &[
    Place { what: "names in a scenario that is run", prepare: scenario },
    Place { what: "names in a sweep", prepare: sweep },
    Place { what: "names in a recording of events", prepare: recording },
    Place { what: "a scenario with errors", prepare: wrong_scenario },
    Place { what: "a scenario that is no TOML", prepare: no_toml },
    Place { what: "functions of folded stacks", prepare: folded },
    Place { what: "functions, programs and files of perf script", prepare: perf_script },
    Place { what: "functions and files of pprof", prepare: pprof },
    Place { what: "a script of packetdrill", prepare: script },
    Place { what: "names of files", prepare: files },
    Place { what: "interfaces of pcapng", prepare: interfaces },
    Place { what: "arguments", prepare: arguments },
];

fn words(line: &str) -> Vec<OsString> {
    line.split(' ').map(OsString::from).collect()
}

/// The arguments of `line`, with `name` in place of NAME.
fn with_name(line: &str, name: &OsStr) -> Vec<OsString> {
    let of = |word: OsString| if word == "NAME" { name.to_owned() } else { word };
    words(line).into_iter().map(of).collect()
}

/// A TOML string that holds `name`.
pub fn quoted(name: &str) -> String {
    let escape = |c: char| format!("\\U{:08x}", u32::from(c));
    format!("\"{}\"", name.chars().map(escape).collect::<String>())
}

fn scenario_text(name: &str) -> String {
    let name = quoted(name);
    format!(
        "title = {name}\nduration = \"100 ms\"\n[hosts.{name}]\n[hosts.receiver]\n[[path]]\nname = {name}\nrate = \"10 Mbit/s\"\n\
         [[flows]]\nname = {name}\nfrom = {name}\namount = \"20 KiB\"\n[[flows]]\nname = \"d\"\nfrom = {name}\n\
         datagrams = {{ rate = \"1 Mbit/s\", size = \"100 B\" }}\n"
    )
}

fn scenario(folder: &Captures, name: &str) -> Vec<Vec<OsString>> {
    folder.write("named.toml", scenario_text(name).as_bytes());
    let lines = [
        "run named.toml",
        "run named.toml --json",
        "run named.toml --color always --progress always",
        "scenario explain named.toml",
        "scenario explain named.toml --json",
        "probe named.toml --measure rtt",
        "probe named.toml --measure rtt --json",
    ];
    lines.map(words).into()
}

fn sweep(folder: &Captures, name: &str) -> Vec<Vec<OsString>> {
    let tried = format!("[[try]]\nname = {}\nset = [\"path.delay=9ms\"]\n", quoted(name));
    folder.write("tried.toml", (scenario_text(name) + &tried).as_bytes());
    let lines = [
        "sweep tried.toml --vary path.delay=1ms,2ms --plot plot.svg",
        "sweep tried.toml --json",
        "sweep tried.toml --out runs",
    ];
    lines.map(words).into()
}

fn recording(folder: &Captures, name: &str) -> Vec<Vec<OsString>> {
    // Each host has a file of that name.
    let name = name.replace('/', "");
    folder.write("named.toml", scenario_text(&name).as_bytes());
    let record = slowpath(folder).args(words("run named.toml --record recorded --pcap packets")).output();
    record.expect("the binary runs");
    let host = |of: &str| {
        fs::read_dir(folder.path(of)).ok().and_then(|mut all| all.next()?.ok()).map(|one| one.path())
    };
    let recorded = host("recorded").unwrap_or_else(|| folder.path("recorded"));
    let packets = host("packets").unwrap_or_else(|| folder.path("packets"));
    let lines =
        ["diagnose NAME --html page.html", "diagnose NAME --json", "flows NAME", "show NAME --limit 9"];
    let both = [recorded, packets].map(|path| lines.map(|line| with_name(line, path.as_os_str())));
    both.concat()
}

fn wrong_scenario(folder: &Captures, name: &str) -> Vec<Vec<OsString>> {
    let name = quoted(name);
    let wrong = format!(
        "[path]\n{name} = 1\nrate = {name}\n[[flows]]\nfrom = {name}\n[hosts.sender]\nkernel = {name}\n"
    );
    folder.write("wrong.toml", wrong.as_bytes());
    let lines = [
        "scenario check wrong.toml",
        "scenario check wrong.toml --json",
        "run wrong.toml",
        "sweep wrong.toml",
    ];
    lines.map(words).into()
}

fn no_toml(folder: &Captures, name: &str) -> Vec<Vec<OsString>> {
    folder.write("no.toml", format!("title = \"{name}\"\n{name} = [\n").as_bytes());
    ["scenario check no.toml", "scenario check no.toml --json", "run no.toml"].map(words).into()
}

const OF_PROFILES: [&str; 9] = [
    "profile top NAME --top 9",
    "profile top NAME --json",
    "profile attribute NAME --to tcp_v4_rcv --svg calls.svg",
    "profile attribute NAME --to no_such_function",
    "profile calltree NAME --of tcp_v4_rcv",
    "profile descendants NAME",
    "profile compare NAME NAME",
    "profile compare NAME NAME --json",
    "profile flame NAME --out flame.svg",
];

fn of_profile(file: &str) -> Vec<Vec<OsString>> {
    OF_PROFILES.map(|line| with_name(line, file.as_ref())).into()
}

/// The bytes that are used to detect a format; control characters there would change it.
const LOOKED_AT: usize = 64 << 10;
const ORDINARY: &str = "main;a;b 30\n";

fn folded(folder: &Captures, name: &str) -> Vec<Vec<OsString>> {
    let name = name.replace('\n', " ");
    let stacks = ORDINARY.repeat(LOOKED_AT / ORDINARY.len() + 1)
        + &format!("main;{name};tcp_v4_rcv_[k] 10\nno_such_function{name};{name} 5\nmain;a;b 30\n");
    folder.write("stacks.folded", stacks.as_bytes());
    of_profile("stacks.folded")
}

fn perf_script(folder: &Captures, name: &str) -> Vec<Vec<OsString>> {
    let name = name.replace('\n', " ");
    let sample = |time: u32, name: &str| {
        format!(
            "{name} 10 [000] {time}.5: 3 cycles:\n\tffffffff81000000 tcp_v4_rcv+0x1 ([kernel.kallsyms])\n\
             \t55550000 {name}+0x2 ({name})\n\n"
        )
    };
    folder.write("perf.script", (sample(1, "a").repeat(LOOKED_AT / 50) + &sample(2, &name)).as_bytes());
    of_profile("perf.script")
}

/// A length-delimited field of a protocol buffer message.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut all = vec![number << 3 | 2];
    let mut left = bytes.len();
    while left > 127 {
        all.push(left as u8 | 0x80);
        left >>= 7;
    }
    all.push(left as u8);
    all.extend(bytes);
    all
}

fn pprof(folder: &Captures, name: &str) -> Vec<Vec<OsString>> {
    // Strings 1 and 2 are type and unit, 3 is the hostile name; two functions, two locations, one sample.
    let strings = ["", "samples", "count", name, "tcp_v4_rcv"].map(|text| field(6, text.as_bytes())).concat();
    let message = [
        field(1, &[8, 1, 16, 2]),
        field(2, &[8, 1, 8, 2, 16, 7]),
        field(3, &[8, 1, 16, 1, 24, 2, 40, 3]),
        field(4, &[8, 1, 16, 1, 34, 2, 8, 1]),
        field(4, &[8, 2, 16, 1, 34, 2, 8, 2]),
        field(5, &[8, 1, 16, 3, 32, 3]),
        field(5, &[8, 2, 16, 4]),
        strings,
    ];
    folder.write("stacks.pb", &message.concat());
    of_profile("stacks.pb")
}

fn script(folder: &Captures, name: &str) -> Vec<Vec<OsString>> {
    let name = name.replace('\n', " ");
    folder.write("wrong.pkt", format!("0 socket(..., SOCK_STREAM, {name}) = 3\n").as_bytes());
    folder.write(
        "code.pkt",
        format!("// {name}\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 4 // {name}\n").as_bytes(),
    );
    ["drill wrong.pkt", "drill wrong.pkt --json", "drill code.pkt --verbose", "drill code.pkt --json"]
        .map(words)
        .into()
}

/// A file name: without the characters that are not allowed in one, and with invalid UTF-8.
fn file_name(name: &str, ending: &str) -> OsString {
    let mut bytes = name.replace(['/', '\0'], "").into_bytes();
    bytes.truncate(200);
    OsString::from_vec([b"n\xff\x9b", &bytes[..], ending.as_bytes()].concat())
}

fn files(folder: &Captures, name: &str) -> Vec<Vec<OsString>> {
    let file = |ending: &str, bytes: &[u8]| {
        let name = file_name(name, ending);
        fs::write(folder.path("").join(&name), bytes).expect("the folder takes files");
        name
    };
    let transfer = captures::transfer(60);
    let capture = file(".pcap", &transfer);
    let cut = file("-cut.pcap", &transfer[..transfer.len() - 17]);
    let scenario = file(".toml", b"duration = \"100 ms\"\n[path]\nrate = \"10 Mbit/s\"\n");
    let wrong = file("-wrong.toml", b"[path]\ndealy = 1\n");
    let profile = file(".folded", b"main;a;tcp_v4_rcv_[k] 10\n");
    let script = file(".pkt", b"0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 4\n");
    let other = file(".txt", b"neither this nor that");
    let absent = file_name(name, "-absent");
    let mut commands = Vec::new();
    let of_captures = [
        "diagnose NAME --html page.html",
        "diagnose NAME --color always --progress always",
        "diagnose NAME --json",
        "diagnose NAME --summary --by file --color always",
        "diagnose NAME --filter NAME",
        "flows NAME --csv",
        "flows NAME --progress always",
        "show NAME --limit 9",
        "show NAME --flow 7",
        "show NAME --from 5000",
    ];
    for file in [capture, cut] {
        commands.extend(of_captures.map(|line| with_name(line, &file)));
    }
    for line in [
        "scenario check NAME",
        "scenario check NAME --json",
        "run NAME",
        "run NAME --json",
        "run NAME --html page.html",
        "sweep NAME",
    ] {
        commands.extend([&scenario, &wrong].map(|file| with_name(line, file)));
    }
    commands.extend(OF_PROFILES.map(|line| with_name(line, &profile)));
    commands.extend(["drill NAME", "drill NAME --json", "drill ."].map(|line| with_name(line, &script)));
    let any = [
        "diagnose NAME",
        "diagnose NAME NAME",
        "flows NAME",
        "run NAME",
        "scenario check NAME",
        "scenario new NAME",
        "sweep NAME --vary path.delay=1ms,2ms",
        "profile top NAME",
        "profile flame before.folded --out NAME/x.svg",
        "drill NAME",
        "man --out NAME",
        "papers lavoie --from NAME",
        "diagnose --live --netns NAME",
        "diagnose --live --cgroup NAME",
    ];
    for file in [other, absent] {
        commands.extend(any.map(|line| with_name(line, &file)));
    }
    // A folder with other files.
    fs::create_dir(folder.path("other")).expect("a folder");
    fs::write(folder.path("other").join(file_name(name, ".parquet")), b"x").expect("a file");
    commands.extend(["sweep named.toml --vary path.delay=1ms,2ms --out other", "diagnose other"].map(words));
    folder.write("named.toml", scenario_text("a").as_bytes());
    commands
}

fn interfaces(folder: &Captures, name: &str) -> Vec<Vec<OsString>> {
    let block = |kind: u32, body: &[u8]| {
        let length = (12 + body.len() as u32).to_le_bytes();
        [&kind.to_le_bytes()[..], &length, body, &length].concat()
    };
    let option = |code: u16, value: &[u8]| {
        let padding = vec![0; value.len().next_multiple_of(4) - value.len()];
        [&code.to_le_bytes()[..], &(value.len() as u16).to_le_bytes(), value, &padding].concat()
    };
    let name = name.as_bytes();
    let section = [&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8], &option(1, name), &[0; 4]];
    let interface = [&[101, 0, 0, 0, 0, 0, 4, 0][..], &option(2, name), &option(3, name), &[0; 4]];
    folder.write(
        "named.pcapng",
        &[block(0x0a0d_0d0a, &section.concat()), block(1, &interface.concat())].concat(),
    );
    ["diagnose named.pcapng --json", "diagnose named.pcapng", "flows named.pcapng --json"].map(words).into()
}

fn arguments(_: &Captures, name: &str) -> Vec<Vec<OsString>> {
    let name = OsString::from(name.replace('\0', ""));
    let mut option = OsString::from("--");
    option.push(&name);
    let lines = [
        "NAME",
        "diagnose a.pcap --vantage NAME",
        "diagnose --live --pid NAME",
        "causes NAME",
        "man NAME",
        "completions NAME",
        "kernels show NAME",
        "doctor NAME --rate 1Gbit/s",
        "doctor --interface NAME",
        "doctor --rate NAME",
        "probe NAME --measure rtt",
        "papers NAME",
        "explain buffer --rate NAME",
        "run a.toml --set NAME",
        "sweep a.toml --vary NAME",
        "drill a.pkt --kernel NAME",
        "drill a.pkt --option NAME",
        "profile record --out a.data -- NAME",
    ];
    let mut commands: Vec<Vec<OsString>> = lines.map(|line| with_name(line, &name)).into();
    commands.push(vec!["diagnose".into(), option]);
    commands
}

/// The first forbidden content of an output.
pub fn fault(text: &str) -> Option<String> {
    let is_break = |c: char| c == '\n' || c == '\t';
    let is_hidden = |c: char| {
        c.is_control() && !is_break(c)
            || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
    };
    if let Some(hidden) = text.chars().find(|c| is_hidden(*c)) {
        return Some(format!("{hidden:?} came out"));
    }
    let forged = text.lines().find(|line| line.trim_start().starts_with("FORGED"));
    forged.map(|line| format!("a line was forged: {line}"))
}

/// Removes the styles of slowpath's own output; none of them is red.
fn without_styles(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| match part.split_once('m') {
        Some((style, rest))
            if !style.is_empty()
                && style != "31"
                && style.chars().all(|c| c.is_ascii_digit() || c == ';') =>
        {
            out + rest
        }
        _ => out + "\x1b[" + part,
    })
}

/// Removes the control sequences of a progress bar: carriage return and clear line (console's `clear_line`).
fn without_bar(text: &str) -> String {
    ["\r", "\x1b[2K"].iter().fold(text.to_owned(), |text, part| text.replace(part, "")).trim().to_owned()
}

/// Prepares a place, runs its commands and checks everything that they print and write.
fn check(place: &Place, name: &str) -> Result<(), TestCaseError> {
    let folder = Captures::new();
    folder.write("before.folded", b"main;a 1\n");
    let mut shown = false;
    for args in (place.prepare)(&folder, name) {
        let has = |option: &str| args.iter().any(|arg| arg == option);
        // Keeps commands from watching, recording or using the network for long.
        let mut command = slowpath(&folder);
        let output = command.args(&args).output();
        let output = match output {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => continue,
            output => output.expect("the binary runs"),
        };
        let code = output.status.code();
        prop_assert!(code.is_some_and(|code| code <= 2), "{}: {args:?}: {:?}", place.what, output.status);
        let (out, err) = (String::from_utf8(output.stdout), String::from_utf8(output.stderr));
        let (mut out, mut err) = (out.expect("UTF-8"), err.expect("UTF-8"));
        if has("always") {
            (out, err) = (without_styles(&out), without_bar(&err));
        }
        for text in [&out, &err] {
            shown |= ESCAPED.iter().any(|escaped| text.contains(escaped));
            let fault = fault(text);
            prop_assert!(fault.is_none(), "{}: {args:?}: {fault:?}\n{text}", place.what);
        }
        if has("--json") && code != Some(2) {
            let mut documents = serde_json::Deserializer::from_str(&out).into_iter::<Value>();
            prop_assert!(documents.all(|document| document.is_ok()), "{}: {args:?}: {out}", place.what);
        }
        for file in ["page.html", "plot.svg", "calls.svg", "flame.svg"] {
            let Ok(markup) = fs::read_to_string(folder.path(file)) else { continue };
            let fault = fault(&markup);
            prop_assert!(fault.is_none(), "{}: {args:?}: {file}: {fault:?}", place.what);
            let marks = ["<script", "</script", "]]>", "<!--"].map(|mark| markup.matches(mark).count());
            // The page's own data and script, and the script of a flame graph.
            let own = match file {
                "page.html" => [2, 2, 0, 0],
                "flame.svg" => [1, 1, 1, 0],
                _ => [0; 4],
            };
            prop_assert_eq!(marks, own, "{}: {:?}: {}", place.what, args, file);
            shown |= markup.contains(ESCAPED[0]);
        }
    }
    prop_assert!(shown || !name.contains("\u{9b}2J"), "{}: the name was not shown anywhere", place.what);
    Ok(())
}

#[test]
fn hostile_names_are_escaped_everywhere() {
    for place in PLACES {
        if let Err(error) = check(place, HOSTILE) {
            panic!("{error}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_hostile_names_are_escaped_everywhere(
        name in prop::collection::vec(prop_oneof![prop::sample::select(HOSTILE.chars().collect::<Vec<_>>()), any::<char>()], 1..40)
            .prop_filter("a number may be a process, which is then watched", |name| !name.iter().all(char::is_ascii_digit))
    ) {
        let name = String::from_iter(name);
        for place in PLACES {
            check(place, &name)?;
        }
    }
}

/// JSON contains names unchanged, in escaped form.
#[test]
fn json_keeps_names_whole() {
    let folder = Captures::new();
    folder.write("named.toml", scenario_text(HOSTILE).as_bytes());
    let document: Value = json(&outcome(&run(&folder, &["run", "named.toml", "--json"])).1);
    assert_eq!(document["title"], HOSTILE);
    let name = HOSTILE.replace('/', "");
    recording(&folder, &name);
    let out = outcome(&run(&folder, &["diagnose", "recorded", "--json"])).1;
    let document = json(&out);
    assert_eq!(document["recordings"][0]["account"]["host"], name, "as Parquet has it: {out}");
}

/// A name is cut to the limit of a column, and its neighbours stay aligned.
#[test]
fn very_long_name_is_cut() {
    let folder = Captures::new();
    folder.write("long.folded", format!("main;c 1\nmain;b;{} 9\n", "x".repeat(100_000)).as_bytes());
    let long = quoted(&"日".repeat(330));
    folder.write("long.toml", format!("duration = \"100 ms\"\n[flows]\nname = {long}\n").as_bytes());
    for (args, most) in [
        (&["profile", "top", "long.folded"][..], 100),
        (&["profile", "attribute", "long.folded", "--to", "b"], 120),
        (&["run", "long.toml"], 300),
    ] {
        let (code, out, err) = outcome(&run(&folder, args));
        assert!(code == 0 && out.contains('…'), "{args:?}: {code} {out} {err}");
        assert!(out.lines().all(|line| line.chars().count() <= most), "{args:?}: {out}");
    }
}

/// A process's name is escaped. (Linux allows any 15 bytes.)
#[test]
fn process_names_are_escaped() {
    let folder = Captures::new();
    let before = fs::read("/proc/self/comm").expect("a name");
    fs::write("/proc/self/comm", "\x1b]0;\u{9b}2J\u{202e}\n").expect("a process may name itself");
    // Until it runs its own program, what another test starts has the sockets too, and may be named as theirs.
    let is_named = || {
        let (code, out, _) = outcome(&live::watched(&folder, &["--own"]));
        let fault = fault(&out);
        assert!(code == 0 && fault.is_none(), "{code} {fault:?} {out}");
        out.contains(r"(\u{1b}]0;\u{9b}2J\u{202e}")
    };
    let was_named = (0..3).any(|_| is_named());
    fs::write("/proc/self/comm", before).expect("a process may name itself");
    assert!(was_named);
}

/// A far end that refuses with a message that contains terminal controls.
#[test]
fn messages_of_a_far_end_are_escaped() {
    let folder = Captures::new();
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let port = listener.local_addr().expect("an address").port().to_string();
    let far_end = thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a client");
        let mut answer = Vec::new();
        Message::Refused(HOSTILE.to_owned()).write(&mut answer);
        client.write_all(&answer).expect("it listens");
        // Until the client disconnects.
        let _ = client.read_to_end(&mut Vec::new());
    });
    let (code, _, err) = outcome(&run(&folder, &["probe", "127.0.0.1", "--port", &port]));
    far_end.join().expect("it ends");
    assert!(code == 2 && fault(&err).is_none() && err.contains(ESCAPED[0]), "{code} {err}");
}
