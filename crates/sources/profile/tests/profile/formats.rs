//! Text formats and pprof, read and written.

use crate::stacks::{profile, read_bytes, stack_lines};
use proptest::collection::vec;
use proptest::prelude::*;
use slowpath_cost::{Entry, Event, Frame, Image, Profile};
use slowpath_profile::{Contents, Format, Measure, ProfileError, write_folded, write_pprof};

const SCRIPT: &str = "# captured on: Mon Nov 23 2026
iperf3 -s  4242/4243 [001]  54275.037098:    1001001 cpu-clock:pppH:
\tffffffff821c7b21 tcp_ack+0x41 ([kernel.kallsyms])
\tffffffffc00c1000 nf_hook_slow+0x1 ([nf_conntrack])
\t           fdc47 a_small_one (inlined)
\t           fdc47 void f<int, (x)>(char const*; long)+0x7 (/opt/my app/server (deleted))
\t               0 [unknown] ([unknown])

iperf3 -s  4242/4243 [001]  54275.037099:    1001001 cpu-clock:pppH:
\tffffffff821c7b21 tcp_ack+0x41 ([kernel.kallsyms])
\tffffffff821c7c21 ret_from_fork_asm+0x41 ([kernel.kallsyms])

          swapper     0 [000] 1.5:          7 cycles:P:  ffffffff810000aa native_halt+0xa ([kernel.kallsyms])
this is no sample
swapper 0 [000] 2.0: PERF_RECORD_LOST lost 12
";

#[test]
fn perf_script_with_unusual_names_is_read() {
    let input = read_bytes(SCRIPT.as_bytes()).unwrap();
    assert_eq!(input.format, Format::PerfScript);
    let profile = profile(&input);
    let f = "void f<int, (x)>(char const*; long) (server); a_small_one (server) inlined";
    let lines: Vec<_> = stack_lines(profile).into_iter().collect();
    let expected = [
        ("cpu-clock:pppH iperf3 -s: ret_from_fork_asm (kernel); tcp_ack (kernel)".to_owned(), (1, 1_001_001)),
        (
            format!("cpu-clock:pppH iperf3 -s: … {f}; nf_hook_slow (module nf_conntrack); tcp_ack (kernel)"),
            (1, 1_001_001),
        ),
        ("cycles:P swapper: … native_halt (kernel)".to_owned(), (1, 7)),
    ];
    assert_eq!(lines, expected);
    let lost = profile.lost;
    assert_eq!((lost.samples, lost.without_stack, lost.truncated, lost.unreadable), (12, 1, 1, 1));
    let notes: Vec<String> = input.notes.iter().map(ToString::to_string).collect();
    let expected =
        "samples: records or lines contradict themselves and were skipped (1, the first in line 14)";
    assert_eq!(notes, [expected]);
}

#[test]
fn folded_stacks_are_read_with_annotations() {
    let text = "nginx;__send;tcp_sendmsg_[k];tcp_sk_[k]_[i] 12\nvoid f<int>(a, b);g_[j] 3.5\n\nnothing\n";
    let input = read_bytes(text.as_bytes()).unwrap();
    assert_eq!(input.format, Format::Folded);
    let expected = [
        (
            "samples [unknown]: nginx (?); __send (?); tcp_sendmsg (kernel); tcp_sk (kernel) inlined"
                .to_owned(),
            (12, 12),
        ),
        ("samples [unknown]: void f<int>(a, b) (?); g ([jit])".to_owned(), (4, 4)),
    ];
    assert_eq!(stack_lines(profile(&input)).into_iter().collect::<Vec<_>>(), expected);
    assert_eq!(profile(&input).lost.unreadable, 1);
}

#[test]
fn refused_file_is_described() {
    let refused = |bytes: &[u8]| read_bytes(bytes).unwrap_err().to_string();
    assert!(refused(b"").starts_with("test: empty"));
    assert!(refused(b"\x28\xb5\x2f\xfd....").ends_with("packed with zstd; unpack it first (`zstd -dc`)"));
    assert!(refused(b"hello\nworld\n").contains("not a profile: starts with \"hello\""));
    assert!(
        refused(&[0x7f, b'E', b'L', b'F', 0, 0]).contains("not a profile: starts with bytes 7f 45 4c 46")
    );
    assert!(matches!(
        slowpath_profile::open("/nowhere/perf.data", &slowpath_profile::SymbolSources::default()),
        Err(ProfileError::Open { .. })
    ));
}

#[test]
fn opreport_text_is_recognised() {
    let report = "Profiling through timer interrupt\nsamples  %        symbol name\n----------\n\
        \x20 5  100.000  ip_rcv\n9  50.0000  tcp_v4_rcv\n  9  100.000  tcp_v4_rcv [self]\n----------\n";
    let input = read_bytes(report.as_bytes()).unwrap();
    let Contents::Calls(graph) = &input.contents else { panic!("{:?}", input.contents) };
    assert_eq!((input.format, graph.self_samples.as_slice()), (Format::Opreport, &[0, 9][..]));
    let [(caller, callee, 5)] = graph.edges[..] else { panic!("{:?}", graph.edges) };
    assert_eq!((graph.functions.name(caller), graph.functions.name(callee)), ("ip_rcv", "tcp_v4_rcv"));
}

/// Profiles of one event. Names contain the separators of the formats.
fn profiles() -> impl Strategy<Value = Profile> {
    let function = (0..6usize, 0..4usize, any::<bool>());
    let stack = (vec(function, 1..8), 0..3u32, 1..1000u64, 1..1_000_000u64);
    vec(stack, 1..40).prop_map(|stacks| {
        const NAMES: [&str; 6] = ["main", "tcp_ack", "f(int, b)", "operator new", "[0x12]", "a:b"];
        let images = [
            Image::Kernel(None),
            Image::Kernel(Some("tcp_bbr".to_owned())),
            Image::User("nginx".to_owned()),
            Image::Unknown,
        ];
        let mut profile = Profile {
            events: vec![Event { name: "cpu-clock".to_owned(), unit: "ns" }],
            tasks: ["a", "b c", "d"].map(str::to_owned).to_vec(),
            ..Profile::default()
        };
        let mut known = std::collections::HashMap::new();
        for (frames, task, samples, weight) in stacks {
            // An inlined function has the image of the function that contains it, and there always is one.
            let mut image = &images[frames.last().map_or(0, |frame| frame.1)];
            let mut reversed: Vec<Frame> = Vec::new();
            for (at, (name, of, inlined)) in frames.iter().rev().enumerate() {
                let inlined = *inlined && at > 0;
                if !inlined {
                    image = &images[*of];
                }
                reversed.push(Frame { function: profile.functions.of(NAMES[*name], image), inlined });
            }
            reversed.reverse();
            if known.insert((reversed.clone(), task), ()).is_none() {
                let stack = profile.stacks.push(reversed, false);
                profile.entries.push(Entry { stack, event: 0, task, samples, weight });
            }
        }
        profile
    })
}

/// Without the mark of truncated stacks, which depends on images.
fn plain(profile: &Profile) -> Vec<(String, (u64, u64))> {
    let lines = stack_lines(profile).into_iter();
    let mut lines: Vec<_> = lines.map(|(line, counts)| (line.replace("… ", ""), counts)).collect();
    lines.sort();
    lines
}

proptest! {
    #[test]
    fn pprof_round_trips(profile in profiles()) {
        let mut packed = Vec::new();
        write_pprof(&profile, 0, &mut packed).unwrap();
        let input = read_bytes(&packed).unwrap();
        prop_assert_eq!(input.format, Format::Pprof);
        prop_assert_eq!(&input.notes, &[]);
        let read = crate::stacks::profile(&input);
        prop_assert_eq!(plain(read), plain(&profile));
        prop_assert_eq!(&read.events, &profile.events);
        let mut unpacked = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&packed[..]), &mut unpacked).unwrap();
        prop_assert_eq!(plain(crate::stacks::profile(&read_bytes(&unpacked).unwrap())), plain(&profile));
    }

    #[test]
    fn folded_stacks_round_trip(profile in profiles()) {
        let write = |profile: &Profile| {
            let mut text = Vec::new();
            write_folded(profile, 0, Measure::Samples, &mut text).unwrap();
            let mut lines: Vec<String> = String::from_utf8(text).unwrap().lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        let lines = write(&profile);
        let input = read_bytes(lines.join("\n").as_bytes()).unwrap();
        let read = crate::stacks::profile(&input);
        let total = |profile: &Profile| profile.entries.iter().map(|entry| entry.samples).sum::<u64>();
        prop_assert_eq!(total(read), total(&profile));
        // Lines that differ only in the task, which folded stacks do not have, are merged when read.
        let again = crate::stacks::profile(&read_bytes(write(read).join("\n").as_bytes()).unwrap()).clone();
        prop_assert_eq!(stack_lines(&again), stack_lines(read));
        let merged = write(read);
        for line in &lines {
            let names = line.rsplit_once(' ').unwrap().0;
            prop_assert!(merged.iter().any(|other| other.rsplit_once(' ').unwrap().0 == names), "{}", line);
        }
    }
}
