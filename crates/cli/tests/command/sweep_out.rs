//! `slowpath sweep --out` and `--plot`: stored runs, resuming, and plots.

use crate::captures::Captures;
use crate::{json, outcome, run, send_signal, slowpath};
use slowpath_files::{Existing, Output};
use slowpath_recording::results::{self, Cell, Column, Field, Holds, Value};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use std::{fs, thread};

/// A tenth of a second over 20 Mbit/s with some loss.
const SCENARIO: &str = "title = \"short\"\nduration = \"100 ms\"\n[path]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\nloss = \"1 %\"\n\
    [[flows]]\nname = \"up\"\n[[flows]]\nname = \"down\"\n\
    [[vary]]\nkey = \"path.delay\"\nvalues = [\"1ms\", \"5ms\", \"20 ms\"]\n\
    [[vary]]\nkey = \"flows.up.streams\"\nvalues = [\"1\", \"2\"]\n\
    [[try]]\nname = \"a tiny buffer\"\nset = [\"flows.receiver.socket.SO_RCVBUF=4kB\"]\n";
const SWEEP: [&str; 4] = ["sweep", "short.toml", "--repeat", "2"];
/// All cases with their repetitions.
const RUNS: usize = 14;

fn folder() -> Captures {
    let folder = Captures::new();
    folder.write("short.toml", SCENARIO.as_bytes());
    folder
}

/// Runs the sweep with more arguments; returns exit code, standard output and standard error.
fn sweep(folder: &Captures, more: &[&str]) -> (i32, String, String) {
    outcome(&run(folder, &[&SWEEP, more].concat()))
}

/// Standard output of a sweep that exits with 0 without errors.
fn sweep_stdout(folder: &Captures, more: &[&str]) -> String {
    let (code, out, err) = sweep(folder, more);
    assert_eq!((code, err.as_str()), (0, ""), "{more:?}");
    out
}

/// The files in a folder, by name.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let all = fs::read_dir(folder).expect("a folder").flatten();
    all.map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, fs::read(entry.path()).expect("a file"))
    })
    .collect()
}

/// The columns for [`SCENARIO`], as in the handbook.
fn columns() -> Vec<Column> {
    use Holds::{Count, Number, Switch, Text};
    let fields =
        |of: &[(&str, Holds)]| of.iter().map(|(name, holds)| Field::new(*name, *holds)).collect::<Vec<_>>();
    let plain = fields(&[
        ("run", Count),
        ("case", Count),
        ("name", Text),
        ("repeat", Count),
        ("seed", Count),
        ("simulated", Switch),
        ("kernel_release", Text),
        ("counts", Switch),
        ("why_not", Text),
        ("path.delay [s]", Number),
        ("flows.up.streams", Count),
        ("flows.receiver.socket.SO_RCVBUF [B]", Number),
        ("rate_bit_per_s", Number),
        ("retransmits", Count),
        ("time_s", Number),
        ("data_bytes", Count),
        ("rtt_s", Number),
        ("least_rtt_s", Number),
        ("timeouts", Count),
        ("timeouts_undone", Count),
        ("over_10_ms", Number),
        ("over_200_ms", Number),
        ("off_cpu_s", Number),
        ("off_cpu_longest_s", Number),
        ("bound_by", Text),
        ("bound_share", Number),
    ]);
    let flows = fields(&[
        ("flow", Text),
        ("connections", Count),
        ("bytes", Count),
        ("begin_ns", Count),
        ("end_ns", Count),
        ("rate_bit_per_s", Count),
        ("retransmits", Count),
        ("timeouts", Count),
        ("rtt_ns", Count),
        ("least_rtt_ns", Count),
    ]);
    let waits = fields(&[
        ("flow", Text),
        ("host", Text),
        ("place", Text),
        ("count", Count),
        ("median_ns", Count),
        ("p99_ns", Count),
        ("longest_ns", Count),
        ("under_1_ms", Count),
        ("under_10_ms", Count),
        ("under_100_ms", Count),
        ("under_200_ms", Count),
        ("under_1_s", Count),
        ("longer", Count),
    ]);
    let lists =
        [("flows", flows), ("waits", waits), ("causes", fields(&[("cause", Text), ("share", Number)]))];
    let lists = lists.map(|(name, fields)| Column::Rows(name.to_owned(), fields));
    plain.into_iter().map(Column::Plain).chain(lists).collect()
}

#[test]
fn rows_match_the_json_document() {
    let folder = folder();
    let document = json(&sweep_stdout(&folder, &["--out", "runs", "--json"]));
    let columns = columns();
    let place = |name: &str| {
        let is = |column: &Column| matches!(column, Column::Plain(field) if field.name == name);
        columns.iter().position(is).expect("a column")
    };
    let runs = document["runs"].as_array().expect("runs");
    assert_eq!((runs.len(), files(&folder.path("runs")).len()), (RUNS, RUNS));
    for (number, document) in (1..).zip(runs) {
        let table = results::read(&folder.path("runs").join(format!("{number:06}.parquet")), &columns);
        let table = table.expect("a run's file");
        assert!(table.metadata.contains(&("slowpath.scenario".to_owned(), SCENARIO.to_owned())));
        let [row] = table.rows.as_slice() else { panic!("one row") };
        let cell = |name: &str| match &row[place(name)] {
            Cell::Plain(value) => value.clone(),
            Cell::Rows(_) => panic!("a list"),
        };
        let sum = |what: &str| -> u64 {
            document["flows"].as_array().expect("flows").iter().filter_map(|flow| flow[what].as_u64()).sum()
        };
        assert_eq!(cell("run"), Some(Value::Count(number)));
        assert_eq!(cell("seed"), document["seed"].as_u64().map(Value::Count));
        assert_eq!(cell("rate_bit_per_s"), Some(Value::Number(sum("rate_bit_per_s") as f64)));
        assert_eq!(cell("data_bytes"), Some(Value::Count(sum("bytes"))));
        assert_eq!(cell("retransmits"), Some(Value::Count(sum("retransmits"))));
        assert_eq!(
            cell("bound_by"),
            document["bound_by"]["cause"].as_str().map(|cause| Value::Text(cause.to_owned()))
        );
        assert_eq!(
            (cell("timeouts_undone"), cell("kernel_release")),
            (None, None),
            "no simulation knows them"
        );
        let set = document["set"].to_string();
        let delay = [("1ms", 0.001), ("5ms", 0.005), ("20 ms", 0.02)];
        let delay = delay.iter().find(|(text, _)| set.contains(&format!("delay={text}")));
        assert_eq!(cell("path.delay [s]"), delay.map(|(_, seconds)| Value::Number(*seconds)));
        let buffer = cell("flows.receiver.socket.SO_RCVBUF [B]");
        assert_eq!(buffer, document["name"].as_str().map(|_| Value::Number(4000.0)));
    }
}

/// The page on sweeps explains every column.
#[test]
fn handbook_documents_every_column() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/sweep.md");
    let page = fs::read_to_string(page).expect("the handbook's page");
    for column in columns() {
        let names: Vec<String> = match column {
            Column::Plain(field) => vec![field.name],
            Column::Rows(name, fields) => {
                [name].into_iter().chain(fields.into_iter().map(|field| field.name)).collect()
            }
        };
        let own = names.iter().filter(|name| !name.contains('.'));
        for name in own {
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
    }
}

#[test]
fn files_depend_neither_on_jobs_nor_on_resuming() {
    let folder = folder();
    let (plain, document) = (sweep_stdout(&folder, &[]), sweep_stdout(&folder, &["--json"]));
    assert_eq!(sweep_stdout(&folder, &["--out", "one", "--jobs", "1"]), plain);
    assert_eq!(sweep_stdout(&folder, &["--out", "many", "--jobs", "7"]), plain);
    let whole = files(&folder.path("one"));
    assert_eq!((whole.len(), &whole), (RUNS, &files(&folder.path("many"))));
    for gone in ["000001", "000006", "000014"] {
        fs::remove_file(folder.path("many").join(format!("{gone}.parquet"))).expect("it is there");
    }
    // A leftover of a process that is gone.
    fs::write(folder.path("many").join(".slowpath-unfinished-000006"), b"PAR1")
        .expect("the folder takes files");
    let kept = fs::metadata(folder.path("many").join("000002.parquet")).and_then(|file| file.modified());
    assert_eq!(sweep_stdout(&folder, &["--out", "many", "--json"]), document);
    assert_eq!(files(&folder.path("many")), whole);
    let now = fs::metadata(folder.path("many").join("000002.parquet")).and_then(|file| file.modified());
    assert_eq!(kept.expect("a time"), now.expect("a time"), "it was not repeated");
    // Everything comes from the folder, with the same text and numbers.
    assert_eq!(
        (sweep_stdout(&folder, &["--out", "many"]), sweep_stdout(&folder, &["--out", "many", "--json"])),
        (plain, document)
    );
}

/// A file that is being written has a lock. The id of its process would mean nothing in another PID namespace.
#[test]
fn unfinished_files_of_running_sweeps_are_kept() {
    let folder = folder();
    fs::create_dir(folder.path("runs")).expect("a folder");
    let other = Output::create(&folder.path("runs/000001.parquet"), Existing::Keep).expect("a new file");
    fs::write(folder.path("runs/.slowpath-unfinished-left"), b"PAR1").expect("the folder takes files");
    sweep_stdout(&folder, &["--out", "runs"]);
    let unfinished = files(&folder.path("runs")).into_keys().filter(|name| name.starts_with('.'));
    let unfinished: Vec<String> = unfinished.collect();
    assert!(unfinished.len() == 1 && unfinished[0] != ".slowpath-unfinished-left", "{unfinished:?}");
    drop(other);
    assert_eq!(files(&folder.path("runs")).len(), RUNS);
}

/// After a sweep was stopped by a signal, the same command resumes, and the files equal those of an uninterrupted
/// sweep.
#[test]
fn stopped_sweep_resumes() {
    let folder = Captures::new();
    folder.write("short.toml", SCENARIO.replace("100 ms", "2 s").as_bytes());
    sweep_stdout(&folder, &["--out", "whole"]);
    let whole = files(&folder.path("whole"));
    for signal in [libc::SIGINT, libc::SIGKILL] {
        let name = format!("after-{signal}");
        let mut child = slowpath(&folder)
            .args(SWEEP)
            .args(["--out", &name, "--jobs", "1"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary runs");
        let begun = Instant::now();
        let made = || fs::read_dir(folder.path(&name)).map_or(0, Iterator::count);
        while made() < 2 && begun.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(1));
        }
        send_signal(&child, signal);
        let code = child.wait().expect("it is ours").code();
        assert_eq!(code, (signal == libc::SIGINT).then_some(1), "what there is was shown");
        let complete = files(&folder.path(&name)).keys().filter(|name| name.ends_with(".parquet")).count();
        assert!((1..RUNS).contains(&complete), "{complete} runs were made");
        sweep_stdout(&folder, &["--out", &name]);
        assert!(files(&folder.path(&name)) == whole, "signal {signal}: other files");
    }
}

#[test]
fn runs_of_another_sweep_are_refused() {
    let folder = folder();
    sweep_stdout(&folder, &["--out", "runs"]);
    let before = files(&folder.path("runs"));
    folder.write("short.toml", SCENARIO.replace("20 Mbit/s", "30 Mbit/s").as_bytes());
    let refused = |more: &[&str], part: &str| {
        let (code, out, err) = sweep(&folder, &[&["--out", "runs"], more].concat());
        assert_eq!((code, out.as_str()), (2, ""), "{more:?}");
        let fix = "name another folder for --out";
        assert!(
            err.contains("runs: has runs of another sweep") && err.contains(fix) && err.contains(part),
            "{err}"
        );
    };
    refused(&[], "the scenario differs (from its line 4 on)");
    folder.write("short.toml", SCENARIO.as_bytes());
    refused(
        &["--set", "path.queue=1bdp"],
        "what --set changes differs (there nothing, here path.queue=1bdp)",
    );
    refused(&["--vary", "path.delay=1ms,5ms"], "what varies differs");
    refused(&["--seed", "7"], "the seed differs (there 1, here 7)");
    refused(&["--seed", "7", "--json"], "the seed differs");
    let (_, _, err) = outcome(&run(&folder, &["sweep", "short.toml", "--out", "runs"]));
    assert!(err.contains("--repeat differs (there 2, here 1)"), "{err}");
    assert_eq!(files(&folder.path("runs")), before);
}

/// A file of another version: one byte of the metadata, which has no checksum.
#[test]
fn runs_of_another_version_are_refused() {
    let folder = folder();
    sweep_stdout(&folder, &["--out", "runs"]);
    let path = folder.path("runs").join("000003.parquet");
    let mut bytes = fs::read(&path).expect("a run");
    let key = b"slowpath.version";
    let at = bytes.windows(key.len()).position(|part| part == key).expect("the key") + key.len();
    let digit = at + bytes[at..].iter().position(u8::is_ascii_digit).expect("a version");
    bytes[digit] = b'9';
    fs::write(&path, bytes).expect("the folder takes files");
    let (code, _, err) = sweep(&folder, &["--out", "runs"]);
    assert!(code == 2 && err.contains("slowpath's version differs (there 9"), "{err}");
}

#[test]
fn output_that_is_no_folder_is_refused_with_a_fix() {
    let folder = folder();
    folder.write("file", b"");
    for (name, inside, part) in [
        ("mine", "thesis.txt", "mine: is not the folder of a sweep: it holds thesis.txt; name another one"),
        ("data", "000001.parquet", "data/000001.parquet: is damaged or cut short"),
        ("data", "000001.parquet", "remove that file, and its runs are repeated"),
        ("other", "results.parquet", "other/results.parquet: is not a file of this sweep"),
        ("file", "", "file: is a file; name a folder for --out"),
    ] {
        if !inside.is_empty() {
            fs::create_dir_all(folder.path(name)).expect("a folder");
            fs::write(folder.path(name).join(inside), b"PAR1 and no more").expect("a file");
        }
        let (code, out, err) = sweep(&folder, &["--out", name]);
        assert_eq!((code, out.as_str()), (2, ""), "{name}");
        assert!(err.contains(part), "{err}");
    }
    sweep_stdout(&folder, &["--out", "runs"]);
    let (cut, beyond) =
        (folder.path("runs").join("000002.parquet"), folder.path("runs").join("000099.parquet"));
    let bytes = fs::read(&cut).expect("a run");
    fs::copy(&cut, &beyond).expect("the folder takes files");
    let (code, _, err) = sweep(&folder, &["--out", "runs"]);
    assert!(code == 2 && err.contains("000099.parquet: is not a file of this sweep"), "{err}");
    fs::remove_file(beyond).expect("it is there");
    fs::write(&cut, &bytes[..bytes.len() / 2]).expect("the folder takes files");
    let (code, _, err) = sweep(&folder, &["--out", "runs"]);
    assert!(code == 2 && err.contains("runs/000002.parquet: is damaged or cut short"), "{err}");
    fs::remove_file(&cut).expect("it is there");
    sweep_stdout(&folder, &["--out", "runs"]);
    assert_eq!(fs::read(&cut).expect("a run"), bytes);
}

/// A valid file with numbers that no run can have is refused before any are summed.
#[test]
fn impossible_rows_are_refused() {
    let folder = folder();
    sweep_stdout(&folder, &["--out", "runs"]);
    let path = folder.path("runs").join("000004.parquet");
    let whole = results::read(&path, &columns()).expect("a run's file");
    let set = |column: usize, field: usize, value: Value| {
        let mut table = whole.clone();
        match &mut table.rows[0][column] {
            Cell::Plain(cell) => *cell = Some(value),
            Cell::Rows(rows) => rows[0][field] = Some(value),
        }
        results::write(&path, &columns(), &table).expect("the folder takes files");
        sweep(&folder, &["--out", "runs"])
    };
    let names = columns();
    let list = |name: &str| {
        names
            .iter()
            .position(|column| matches!(column, Column::Rows(list, _) if list == name))
            .expect("a list")
    };
    let huge = || Value::Count(u64::MAX);
    let (flows, waits, causes) = (list("flows"), list("waits"), list("causes"));
    for (column, field, value) in [
        (0, 0, Value::Count(5)),
        (4, 0, huge()),
        (flows, 2, huge()),
        (flows, 4, huge()),
        (flows, 8, huge()),
        (waits, 3, huge()),
        (waits, 0, Value::Text("sideways".to_owned())),
        (waits, 2, Value::Text("nowhere".to_owned())),
        (causes, 0, Value::Text("fate".to_owned())),
        (causes, 1, Value::Number(f64::INFINITY)),
    ] {
        let (code, out, err) = set(column, field, value.clone());
        assert_eq!((code, out.as_str()), (2, ""), "{column} {field} {value:?}");
        assert!(err.contains("000004.parquet: is not a file of this sweep"), "{err}");
    }
}

/// Files of 500 runs are merged into one, which is read like the others.
#[test]
fn files_of_500_runs_are_merged() {
    let folder = Captures::new();
    folder.write("tiny.toml", b"duration = \"1 ms\"\n[path]\ndelay = \"1 ms\"\n");
    let args =
        ["sweep", "tiny.toml", "--vary", "path.delay=1ms,2ms", "--repeat", "251", "--out", "runs", "--json"];
    let (code, first, err) = outcome(&run(&folder, &args));
    assert_eq!((code, err.as_str()), (0, ""));
    let names: Vec<String> = files(&folder.path("runs")).into_keys().collect();
    assert_eq!(names, ["000001-000500.parquet", "000501.parquet", "000502.parquet"]);
    // A sweep killed while it removes merged files would leave some of them.
    let twice = folder.path("runs").join("000007.parquet");
    fs::copy(folder.path("runs").join("000501.parquet"), &twice).expect("the folder takes files");
    let (code, _, err) = outcome(&run(&folder, &args));
    assert!(code == 2 && err.contains("000007.parquet: is not a file of this sweep"), "{err}");
    fs::remove_file(&twice).expect("it is there");
    assert_eq!(outcome(&run(&folder, &args)), (0, first, String::new()));
}

#[test]
fn plot_has_a_line_for_each_combination() {
    let folder = folder();
    sweep_stdout(&folder, &["--plot", "rate.svg"]);
    let picture = fs::read_to_string(folder.path("rate.svg")).expect("the picture");
    assert!(picture.starts_with("<svg xmlns=") && picture.ends_with("</svg>\n"));
    for part in
        [">throughput", ">path.delay (logarithmic)</text>", ">1 ms<", ">5 ms<", ">20 ms<", "2 runs of each"]
    {
        assert!(picture.contains(part), "{part}: {picture}");
    }
    for name in ["streams 1", "streams 2"] {
        assert!(picture.contains(&format!(">{name}</text>")), "{name}");
    }
    assert_eq!(picture.matches("class=\"mark\"").count(), 6, "what is tried outside the grid is not in it");
    assert!(!picture.contains("href") && !picture.contains("url("), "nothing is fetched");
    sweep_stdout(&folder, &["--plot", "times.svg", "--x", "flows.up.streams", "--y", "least_rtt_s"]);
    let picture = fs::read_to_string(folder.path("times.svg")).expect("the picture");
    assert!(picture.contains(">minimum RTT") && picture.contains(">delay 20 ms</text>"), "{picture}");
}

#[test]
fn page_has_a_plot_of_each_number_and_all_rows() {
    let folder = folder();
    let text = sweep_stdout(&folder, &[]);
    assert_eq!(sweep_stdout(&folder, &["--html", "sweep.html"]), text);
    let page = fs::read_to_string(folder.path("sweep.html")).expect("the page");
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    for part in [
        "<figcaption>throughput</figcaption>",
        ">streams 2</text>",
        "<th class=\"label\">delay</th>",
        ">20 ms</td>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(page.matches("<figure>").count() > 1 && page.contains("also tried"));
    assert!(!page.contains("src=") && !page.contains("url("), "nothing is fetched");
    sweep_stdout(&folder, &["--html", "streams.html", "--x", "flows.up.streams"]);
    let page = fs::read_to_string(folder.path("streams.html")).expect("the page");
    assert!(page.contains(">delay 20 ms</text>"), "{page}");
}

#[test]
fn plot_arguments_are_checked_before_any_run() {
    let folder = folder();
    for (more, part) in [
        (&["--plot", "nowhere/a.svg"][..], "nowhere/a.svg: cannot be written"),
        (&["--plot", "a.svg", "--x", "path.rate"], "path.delay, flows.up.streams"),
        (&["--plot", "a.svg", "--y", "speed"], "rate_bit_per_s"),
        (&["--y", "rtt_s", "--x", "path.delay"], "--plot"),
        (&["--x", "path.delay"], "--x: nothing is plotted"),
        (&["--plot", "a.svg", "--vary", "flows.up.streams=1"], "has several numbers to draw over"),
        (
            &[
                "--plot",
                "a.svg",
                "--vary",
                "path.delay=1ms,2ms",
                "--vary",
                "flows.up.streams=1,2,3,4,5,6",
                "--vary",
                "path.queue=1bdp,2bdp,3bdp,4bdp,5bdp",
            ],
            "30 lines, and 24 can be distinguished",
        ),
        (&["--carrier", "tap"], "<--lab|--compare>"),
        (&["--jobs", "0"], "--jobs"),
    ] {
        let (code, out, err) = sweep(&folder, more);
        assert_eq!((code, out.as_str()), (2, ""), "{more:?}");
        assert!(err.contains(part), "{more:?}: {err}");
    }
    let (code, out, err) = sweep(&folder, &["--plot", "a.svg", "--y", "timeouts_undone"]);
    assert!(
        code == 2 && out.contains("path") | out.contains("delay") && err.contains("no run has a value"),
        "{err}"
    );
}

/// Runs on the kernel differ each time, so equal output comes from the stored ones.
#[test]
#[ignore = "needs root, waits"]
fn lab_runs_are_stored() {
    let folder = Captures::new();
    folder.write("short.toml", SCENARIO.replace("100 ms", "1 s").as_bytes());
    let real = ["--compare", "--carrier", "tap", "--vary", "path.delay=5ms,20ms", "--out", "runs"];
    let (code, out, err) = sweep(&folder, &real);
    // If the machine was late, runs do not count.
    assert!(code < 2 && out.contains("the simulator compared with Linux"), "{err}");
    let kept = files(&folder.path("runs"));
    assert_eq!(kept.len(), 8, "{out}{err}");
    assert_eq!(sweep(&folder, &real), (code, out, err));
    assert_eq!(files(&folder.path("runs")), kept);
    let (code, _, err) = sweep(&folder, &[&real[..1], &real[3..]].concat());
    assert!(code == 2 && err.contains("where it runs differs") && err.contains("over tap"), "{err}");
}
