//! Values are read as written.

use slowpath_kernels::BottomHalves;
use slowpath_model::{Bytes, Rate};
use slowpath_path::action::Replacement;
use slowpath_path::link::QueueLimit;
use slowpath_path::loss::LossConfig;
use slowpath_path::middlebox::MiddleboxConfig;
use slowpath_path::mtu::MtuConfig;
use slowpath_path::window_scale::WindowScaleConfig;
use slowpath_scenario::schema::Origin;
use slowpath_scenario::{
    Affinity, Bulk, Checked, LoadKind, Override, Priority, Scenario, Start, Workload, check,
};
use std::time::Duration;

fn checked(text: &str, overrides: &[&str]) -> Checked {
    let overrides: Vec<Override> =
        overrides.iter().map(|text| text.parse().expect("a key and a value")).collect();
    check("x.toml", text, &overrides, None).unwrap_or_else(|error| panic!("{error}"))
}

fn scenario(text: &str) -> Scenario {
    checked(text, &[]).scenario
}

#[test]
fn empty_file_is_a_scenario() {
    let scenario = scenario("");
    let names: Vec<&str> = scenario.hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["sender", "receiver"]);
    assert_eq!(scenario.duration, Duration::from_secs(10));
    assert_eq!(scenario.paths.len(), 1);
    assert_eq!(scenario.paths[0].forward.link, None);
    assert_eq!(scenario.flows[0].workload, Workload::Bulk(Bulk::Endless));
    assert_eq!(scenario.flows[0].sender_host(), scenario.paths[0].ends[0]);
    assert_eq!(scenario.record.hosts.len(), 2);
}

#[test]
fn direction_keys_override_those_of_the_path() {
    let scenario = scenario(
        "[path]\nrate = \"100 Mbit/s\"\ndelay = \"10 ms\"\nloss = \"1 %\"\n\
         [path.forward]\nrate = \"50 Mbit/s\"\nloss = \"0 %\"\n[path.reverse]\ndelay = \"30 ms\"\n",
    );
    let path = &scenario.paths[0];
    let rate = |direction: &slowpath_path::PathConfig| direction.link.as_ref().unwrap().rate.get();
    assert_eq!((rate(&path.forward), rate(&path.reverse)), (50_000_000, 100_000_000));
    assert_eq!(
        (path.forward.delay, path.reverse.delay),
        (Duration::from_millis(10), Duration::from_millis(30))
    );
    assert!(path.forward.loss.is_empty());
    assert_eq!(path.reverse.loss, [LossConfig::Random { probability_ppm: 10_000 }]);
    // 40 ms at 50 Mbit/s are 250 kB.
    assert_eq!(path.forward.link.as_ref().unwrap().queue, QueueLimit::Bytes(Bytes::new(250_000)));
}

#[test]
fn datagrams_are_read_as_written() {
    let plan = |text: &str| match scenario(text).flows[0].workload {
        Workload::Datagrams(plan) => plan,
        ref other => panic!("{other:?}"),
    };
    let short = plan("[flows.datagrams]\nrate = \"340 Mbit/s\"");
    assert_eq!(
        (short.size, short.rate, short.lasts),
        (Bytes::new(1472), Rate::bits_per_second(340_000_000), None)
    );
    assert_eq!(short.interval_picos(), 35_294_117);
    let full = plan("[flows.datagrams]\nsize = \"100 B\"\nrate = \"1 Mbit/s\"\nlasts = \"2 s\"");
    assert_eq!((full.size, full.lasts), (Bytes::new(100), Some(Duration::from_secs(2))));
    for (text, says) in [
        ("[flows.datagrams]\nsize = \"1473 B\"\nrate = \"1 Mbit/s\"", "does not fit into one packet"),
        ("[flows.datagrams]\nsize = \"1 KiB\"", "rate"),
        ("[flows]\nlasts = \"1 s\"\n[flows.datagrams]\nrate = \"1 Mbit/s\"", "exclude each other"),
        ("[flows.sender]\nrate = \"1 Mbit/s\"\n[flows.datagrams]\nrate = \"1 Mbit/s\"", "has their rate"),
    ] {
        let error = check("x.toml", text, &[], None).expect_err(text).to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn queues_are_read_as_written() {
    let queue = |text: &str| {
        let text = format!("[path]\nrate = \"12 Mbit/s\"\ndelay = \"50 ms\"\n{text}");
        scenario(&text).paths[0].forward.link.as_ref().unwrap().queue
    };
    assert_eq!(queue("queue = \"2 bdp\""), QueueLimit::Bytes(Bytes::new(300_000)));
    assert_eq!(queue("queue = \"7 packets\""), QueueLimit::Packets(7));
    assert_eq!(queue("queue = \"64 KiB\""), QueueLimit::Bytes(Bytes::new(65_536)));
    assert_eq!(queue(""), QueueLimit::Bytes(Bytes::new(150_000)));
}

#[test]
fn custom_kernel_is_its_base_with_its_choices() {
    let scenario = scenario(
        "[hosts.receiver]\nkernel = { base = \"2.6.14\", scheduler = \"eevdf 3 ms\", prequeue = false }\n\
         sysctl = { tcp_sack = 0, net.core.rmem_max = 1000000, tcp_congestion_control = \"cubic\" }\n",
    );
    let kernel = &scenario.hosts[1].kernel;
    assert_eq!(kernel.name, "linux-2.6.14+");
    assert_eq!(kernel.scheduler.base_slice(1), Some(Duration::from_millis(3)));
    assert!(!kernel.sysctls.tcp_sack);
    assert_eq!(kernel.sysctls.rmem_max, 1_000_000);
    assert_eq!(kernel.tcp.congestion_control.name(), "cubic");
    assert_eq!(kernel.hz(), 250);
    assert_eq!(scenario.hosts[0].kernel.name, "linux-6.18");
}

#[test]
fn costs_and_loads_are_read_as_written() {
    let scenario = scenario(
        "[hosts.receiver]\nmachine = \"pc-2002\"\ncosts = { copy-byte = \"1.25 ns\" }\n\
         [[hosts.receiver.load]]\nhogs = 3\nnice = -5\ncpu = 1\n[[hosts.receiver.load]]\nmake = 10\nstop = \"5 s\"\n\
         [[hosts.receiver.load]]\nmake = 1\ntool-time = \"5 ms\"\n",
    );
    let host = &scenario.hosts[1];
    assert_eq!((host.costs.machine.as_str(), host.costs.copy_byte.as_picos()), ("pc-2002+", 1250));
    assert_eq!(host.load[0].kind, LoadKind::Hogs { count: 3 });
    assert_eq!((host.load[0].priority, host.load[0].cpu), (Priority::nice(-5), Some(1)));
    assert!(matches!(host.load[1].kind, LoadKind::Make { jobs: 10, tool_time: None, .. }));
    assert_eq!(host.load[1].stop, Some(Duration::from_secs(5)));
    let LoadKind::Make { tool_time, .. } = host.load[2].kind else { panic!("a make") };
    assert_eq!(tool_time, Some(Duration::from_millis(5)));
}

#[test]
fn flows_are_read_as_written() {
    let scenario = scenario(
        "[[flows]]\namount = \"1 GiB\"\nstreams = 4\n\
         [flows.sender.socket]\nSO_SNDBUF = \"1 MiB\"\nTCP_CONGESTION = \"reno\"\nTCP_QUICKACK = true\n\
         [[flows]]\nfrom = \"receiver\"\nrequests = { response = [\"1 KiB\", \"2 KiB\"], connection = \"each\" }\n",
    );
    let [bulk, requests] = scenario.flows.as_slice() else { panic!("two flows") };
    assert_eq!(bulk.workload, Workload::Bulk(Bulk::Amount(Bytes::kib(1 << 20))));
    assert_eq!((bulk.streams, bulk.sender.socket.send_buffer), (4, Some(Bytes::kib(1024))));
    assert_eq!(bulk.sender.socket.quick_ack, Some(true));
    let Workload::RequestResponse(exchange) = &requests.workload else { panic!("requests") };
    assert_eq!(exchange.responses, [Bytes::kib(1), Bytes::kib(2)]);
    assert!(exchange.connection_each);
    // The server sends, which here is the host called sender.
    assert_eq!(scenario.host(requests.client).name, "receiver");
    assert_eq!(scenario.host(requests.sender_host()).name, "sender");
}

#[test]
fn interrupt_affinity_is_read_as_written() {
    let scenario =
        scenario("[hosts.receiver]\nkernel = \"2.2.20\"\nnic = { interrupt-affinity = \"in-turn\" }\n");
    let [sender, receiver] = scenario.hosts.as_slice() else { panic!("two hosts") };
    let affinities = [sender, receiver].map(|host| host.nic.interrupt_affinity);
    assert_eq!(affinities, [Affinity::One, Affinity::InTurn]);
    let halves = [sender, receiver].map(|host| host.kernel.receive.bottom_halves);
    assert_eq!(halves, [BottomHalves::EachCpu, BottomHalves::OneAtATime]);
    assert_eq!([sender, receiver].map(|host| host.kernel.big_kernel_lock), [false, true]);
}

#[test]
fn busy_poll_time_is_read_as_written() {
    let scenario = scenario(
        "[hosts.receiver.sysctl]\nnet.core.busy_read = 30\n\
         [flows.sender.socket]\nSO_BUSY_POLL = \"0 us\"\n[flows.receiver.socket]\nSO_BUSY_POLL = \"50 us\"\n",
    );
    let flow = &scenario.flows[0];
    let asked = [&flow.sender, &flow.receiver].map(|process| process.socket.busy_poll);
    assert_eq!(asked, [Some(Duration::ZERO), Some(Duration::from_micros(50))]);
    let inherited = [0, 1].map(|host: usize| scenario.hosts[host].kernel.receive.busy_read);
    assert_eq!(inherited, [Duration::ZERO, Duration::from_micros(30)]);
}

#[test]
fn overrides_replace_file_values_and_have_their_own_origin() {
    let text = "[path]\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n[[flows]]\n[[flows]]\n";
    let checked =
        checked(text, &["path.delay=50ms", "flows.streams=8", "hosts.sender.nic.rate=1 Gbit/s", "seed=7"]);
    let scenario = &checked.scenario;
    assert_eq!(scenario.paths[0].forward.delay, Duration::from_millis(50));
    assert!(scenario.flows.iter().all(|flow| flow.streams == 8));
    assert_eq!(scenario.hosts[0].nic.rate, Rate::mbit(1000));
    let origin =
        |key: &str| checked.settings.iter().find(|setting| setting.key == key).map(|setting| setting.origin);
    assert_eq!(origin("path.forward.delay"), Some(Origin::Override));
    assert_eq!(origin("path.forward.rate"), Some(Origin::File));
    assert_eq!(origin("flows.1.streams"), Some(Origin::Override));
    assert_eq!(origin("duration"), Some(Origin::Default));
    assert_eq!(scenario.seed, 7);
    assert_eq!(check("x.toml", text, &[], Some(9)).unwrap().scenario.seed, 9);
}

#[test]
fn every_declared_key_is_read() {
    let text = r#"
        [[path]]
        between = ["a", "b"]
        rate = "1 Mbit/s"
        reorder = "1 %"
        jitter = "1 ms"
        bursts = { enter = "1 %", leave = "1 %" }
        lose = [{ syn = 1 }]
        middleboxes = [
            { mtu = "1400 B", icmp = true }, { drop = "syn-data" }, { forget-after = "1 s", reset = true },
            { window-scale = "removed" }, { sack-shift = 1 }, { ecn-mark = "1 %" }, { ecn-mark-every = 10 },
            { ecn = "bleach" }, { identification = "per-host", others = 3 },
            { reset-at = "1 kB", reset-beyond = "1 B" }, { damage = "1 %" },
        ]
        policer = { rate = "1 Mbit/s" }
        stalls = { at = "1 s", lasts = "1 s" }
        cross = { rate = "1 kbit/s" }
        [[path]]
        between = ["b", "c"]
        [hosts.a]
        kernel = { base = "6.18" }
        load = { make = 1 }
        [hosts.b]
        nic = { bus = { rate = "1066 Mbit/s" } }
        [hosts.c]
        [[flows]]
        sender = { pauses = { at = "1 s" } }
        [[flows]]
        messages = { size = "1 B" }
        [[flows]]
        requests = { response = "1 B" }
        [[vary]]
        key = "path.0.rate"
        values = ["1 Mbit/s"]
        [[try]]
        name = "faster"
        set = ["path.0.rate=2 Mbit/s"]
    "#;
    let checked = checked(text, &[]);
    let read: Vec<&str> =
        checked.settings.iter().filter_map(|setting| setting.key.rsplit('.').next()).collect();
    for section in slowpath_scenario::read::SECTIONS {
        for key in section.keys.iter().filter(|key| key.fallback().is_some()) {
            assert!(read.contains(&key.name()), "{} of {} is never read", key.name(), section.heading);
        }
    }
}

#[test]
fn middleboxes_keep_their_order_and_have_exactly_one_kind() {
    let text = r#"
        [[path.forward.middleboxes]]
        window-scale = 3
        [[path.forward.middleboxes]]
        mtu = "1400 B"
        [[path.forward.middleboxes]]
        drop = "beyond-unscaled-window"
    "#;
    let path = &checked(text, &[]).scenario.paths[0];
    let scale = WindowScaleConfig { becomes: Replacement::Shift(3) };
    let mtu = MtuConfig { mtu: Bytes::new(1400), icmp: false };
    assert_eq!(
        path.forward.middleboxes,
        [MiddleboxConfig::WindowScale(scale), MiddleboxConfig::Mtu(mtu), MiddleboxConfig::UnscaledWindow]
    );
    assert_eq!(path.reverse.middleboxes, []);
    for (wrong, why) in [
        ("{ mtu = \"1400 B\", drop = \"syn-data\" }", "mtu and drop exclude each other"),
        ("{ drop = \"syn-data\", icmp = true }", "icmp means nothing without mtu"),
        ("{ identification = \"zero\", others = 3 }", "only a counter of the host has this"),
        ("{ window-scale = 15 }", "this is no window scale"),
        ("{}", "what does this middlebox do?"),
    ] {
        let text = format!("[path]\nmiddleboxes = [{wrong}]\n");
        let error = check("x.toml", &text, &[], None).expect_err(wrong).to_string();
        assert!(error.contains(why), "{error}");
    }
}

/// Each run is a flow of its own, and the next flow follows the last run.
#[test]
fn runs_follow_one_another() {
    let scenario = scenario(
        "[hosts.sender]\nflush = [\"3 s\", \"2 s\"]\n[[flows]]\nname = \"bad\"\namount = \"1 MB\"\nstart = \"1 s\"\n\
         [[flows]]\nname = \"later\"\nafter = \"bad\"\nruns = 2\npause = \"300 ms\"\nflush = true\nlasts = \"1 s\"\n\
         [[flows]]\nafter = \"later\"\n",
    );
    let flows: Vec<_> =
        scenario.flows.iter().map(|flow| (flow.name.as_str(), flow.start, flow.flush)).collect();
    let after = |flow, milliseconds| Start::After { flow, pause: Duration::from_millis(milliseconds) };
    assert_eq!(
        flows,
        [
            ("bad", Start::At(Duration::from_secs(1)), false),
            ("later 1", after(0, 300), true),
            ("later 2", after(1, 300), true),
            ("flow-3", after(2, 1000), false),
        ]
    );
    assert_eq!(scenario.hosts[0].flush, [2, 3].map(Duration::from_secs));
    assert_eq!(scenario.flow_of_streams(), [0, 1, 2, 3]);
}
