//! What advice gains: a scenario with a cause that a setting cures is run in the lab and diagnosed, the advice is planned for the
//! host that it is for, the plan is predicted from the capture of that run, and then tried in the same scenario.
//!
//! `SLOWPATH_GAINS=8` runs all cases with that many pairs, and prints the table of `docs/src/tune.md`; with
//! `SLOWPATH_GAINS_ONLY=TEXT`, its rows whose title contains the text.

use slowpath_lab::host::Host;
use slowpath_lab::recording::Format;
use slowpath_lab::run::recording_file;
use slowpath_lab::{scenario, task, testbed};
use slowpath_model::Rate;
use slowpath_model::units::range;
use slowpath_runs::in_lab::{Trial, Tried, try_plan};
use slowpath_runs::kernel::{self, How};
use slowpath_runs::planning::{NotPredicted, Told, advised, foretell};
use slowpath_scenario::Scenario;
use slowpath_tune::gain::Measure;
use slowpath_tune::journal::Side;
use slowpath_tune::plan::Here;
use slowpath_tune::{Forecast, Plan, examine_advised, spread};

/// A cause that a setting cures.
struct Case {
    /// What is wrong, as the table has it.
    title: &'static str,
    cause: &'static str,
    host: Host,
    /// The setting that the plan has to change.
    setting: &'static str,
    scenario: &'static str,
    /// Whether it is run without being asked for.
    is_quick: bool,
    /// The gain that is the least, as a share.
    least: f64,
}

const CASES: [Case; 12] = [
    Case {
        title: "receive buffer of 128 KiB at most",
        cause: "receive-window/buffer-too-small",
        host: Host::Receiver,
        setting: "sysctl net.ipv4.tcp_rmem",
        scenario: "[path]\nrate = \"100 Mbit/s\"\ndelay = \"20 ms\"\n[hosts.receiver.sysctl]\ntcp_rmem = \"4096 65536 131072\"\n\
                   [flows]\namount = \"3 MB\"\n",
        is_quick: true,
        least: 0.5,
    },
    Case {
        title: "send buffer of 64 KiB at most",
        cause: "send-buffer/full",
        host: Host::Sender,
        setting: "sysctl net.ipv4.tcp_wmem",
        scenario: "[path]\nrate = \"100 Mbit/s\"\ndelay = \"20 ms\"\n[hosts.sender.sysctl]\ntcp_wmem = \"4096 16384 65536\"\n\
                   [flows]\namount = \"3 MB\"\n",
        is_quick: true,
        least: 0.5,
    },
    Case {
        title: "no window scaling",
        cause: "receive-window/no-window-scaling",
        host: Host::Receiver,
        setting: "sysctl net.ipv4.tcp_window_scaling",
        scenario: "[path]\nrate = \"50 Mbit/s\"\ndelay = \"40 ms\"\n[hosts.receiver.sysctl]\ntcp_window_scaling = \"0\"\n\
                   [flows]\namount = \"2 MB\"\n",
        is_quick: true,
        least: 0.3,
    },
    Case {
        title: "no receive buffer autotuning",
        cause: "receive-window/buffer-too-small",
        host: Host::Receiver,
        setting: "sysctl net.ipv4.tcp_moderate_rcvbuf",
        scenario: "[path]\nrate = \"100 Mbit/s\"\ndelay = \"20 ms\"\n[hosts.receiver.sysctl]\ntcp_moderate_rcvbuf = \"0\"\n\
                   [flows]\namount = \"5 MB\"\n",
        is_quick: false,
        least: 0.3,
    },
    Case {
        title: "slow start after idle",
        cause: "congestion-window/slow-start",
        host: Host::Sender,
        setting: "sysctl net.ipv4.tcp_slow_start_after_idle",
        scenario: "duration = \"6 s\"\n[path]\nrate = \"50 Mbit/s\"\ndelay = \"40 ms\"\n\
                   [flows.requests]\nresponse = \"300 KiB\"\nclient-time = \"500 ms\"\n",
        is_quick: false,
        least: 0.0,
    },
    Case {
        title: "initial window of 10 on short transfers",
        cause: "congestion-window/slow-start",
        host: Host::Sender,
        setting: "route 192.0.2.2/32",
        scenario: "[path]\nrate = \"50 Mbit/s\"\ndelay = \"50 ms\"\n[flows]\namount = \"100 kB\"\n",
        is_quick: false,
        least: 0.05,
    },
    Case {
        title: "no SACK, bursts of loss",
        cause: "loss-recovery/fast-recovery",
        host: Host::Receiver,
        setting: "sysctl net.ipv4.tcp_sack",
        scenario: "[path]\nrate = \"20 Mbit/s\"\ndelay = \"30 ms\"\nbursts = { enter = \"0.3 %\", leave = \"20 %\" }\n\
                   [hosts.receiver.sysctl]\ntcp_sack = \"0\"\n[flows]\namount = \"4 MB\"\n",
        is_quick: false,
        least: 0.1,
    },
    Case {
        title: "random loss with Reno",
        cause: "congestion-window/after-loss",
        host: Host::Sender,
        setting: "sysctl net.ipv4.tcp_congestion_control",
        scenario: "[path]\nrate = \"20 Mbit/s\"\ndelay = \"20 ms\"\nloss = \"1 %\"\n[hosts.sender.sysctl]\ntcp_congestion_control = \"reno\"\n[flows]\namount = \"4 MB\"\n",
        is_quick: false,
        least: 0.1,
    },
    Case {
        title: "first receive buffer of 16 KiB",
        cause: "receive-window/autotuning-lag",
        host: Host::Receiver,
        setting: "sysctl net.ipv4.tcp_rmem",
        scenario: "[path]\nrate = \"100 Mbit/s\"\ndelay = \"50 ms\"\n[hosts.receiver.sysctl]\ntcp_rmem = \"4096 16384 33554432\"\n\
                   [flows]\namount = \"1 MB\"\n",
        is_quick: false,
        least: 0.1,
    },
    Case {
        title: "SACK blocks that a firewall did not translate",
        cause: "loss-recovery/sack-untranslated",
        host: Host::Sender,
        setting: "sysctl net.ipv4.tcp_sack",
        scenario: "[path]\nrate = \"20 Mbit/s\"\ndelay = \"20 ms\"\n[path.forward]\n\
                   lose = [{ packets = [300, 700, 1100, 1500, 1900, 2300, 2700, 3100, 3500, 3900] }]\n\
                   [path.reverse]\nmiddleboxes = [{ sack-shift = 1234567890 }]\n[flows]\namount = \"6 MB\"\n",
        is_quick: false,
        least: 0.1,
    },
    Case {
        title: "window scale rewritten on the way",
        cause: "receive-window/scale-too-small",
        host: Host::Sender,
        setting: "sysctl net.ipv4.tcp_window_scaling",
        scenario: "[path]\nrate = \"20 Mbit/s\"\ndelay = \"20 ms\"\n[path.reverse]\nmiddleboxes = [{ window-scale = 2 }]\n\
                   [flows]\namount = \"2 MB\"\n",
        is_quick: false,
        least: 0.1,
    },
    Case {
        title: "ECN marks on an empty queue",
        cause: "congestion-window/ecn-marks",
        host: Host::Sender,
        setting: "sysctl net.ipv4.tcp_ecn",
        scenario: "[path]\nrate = \"30 Mbit/s\"\ndelay = \"30 ms\"\n[path.forward]\nmiddleboxes = [{ ecn-mark = \"0.5 %\" }]\n\
                   [hosts.sender.sysctl]\ntcp_ecn = \"1\"\n[flows]\namount = \"6 MB\"\n",
        is_quick: false,
        least: 0.1,
    },
];

impl Case {
    fn read(&self) -> Scenario {
        slowpath_scenario::check(self.title, self.scenario, &[], None).expect(self.title).scenario
    }

    /// The plan for what a run of the scenario shows, on hosts with its settings, and what is predicted of it.
    fn plan(&self, scenario: &Scenario) -> (Plan, Told) {
        let folder = tempfile::tempdir().expect("a folder");
        let run = folder.path().join("run");
        kernel::run(scenario, How { keep: Some(&run), ..How::default() }, drop).expect(self.title);
        let capture = run.join(recording_file(Host::Sender, Format::Pcap));
        let mut found = advised(&capture, true, &|| Box::new(|_, _| ())).expect(self.title);
        let experiment = scenario::experiment(scenario, &task::own_cpus()).expect(self.title);
        let (namespaces, _) = testbed::build(&experiment.settings).expect("two hosts");
        let netns = namespaces.path(self.host.into());
        let here = if self.host == Host::Sender { Here::Sender } else { Here::Receiver };
        // Whatever this machine's default is.
        namespaces.sysctl(self.host.into(), "net.ipv4.tcp_congestion_control", "reno").expect("reno");
        // Alternatives too: where there is a choice, the case is about one of them.
        let mut plan =
            examine_advised(Some(&netns), self.title, &found.flows, here, None, true).expect(self.title);
        let is_of_case = |planned: &slowpath_tune::plan::Planned| planned.setting.to_string() == self.setting;
        assert!(plan.changes.iter().any(is_of_case), "{}: {plan:#?}", self.title);
        plan.changes.retain(is_of_case);
        assert!(plan.changes[0].finding.contains(self.cause), "{}: {:?}", self.title, plan.changes);
        let told = foretell(&plan, &mut found, here, Some(&netns), &|_| ()).pop().expect("one change");
        (plan, told)
    }

    fn tried(&self, runs: u32) -> (Plan, Told, Tried) {
        let scenario = self.read();
        let (plan, told) = self.plan(&scenario);
        let trial = Trial { plan: &plan, host: self.host, runs, wanted: 0.0 };
        let tried =
            try_plan(&scenario, &trial, &mut || ()).unwrap_or_else(|error| panic!("{}: {error}", self.title));
        (plan, told, tried)
    }
}

/// The predicted rates and how far the measured gain is off, or why there are none.
fn predicted(told: &Told, tried: &Tried) -> [String; 2] {
    match &told.result {
        Ok((now, predicted)) => {
            let [low, _, high] = predicted.rates;
            let forecast = Forecast::of(*now, [low, high], None).expect("rates");
            let error = forecast.error(Measure::Rate, tried.gain.estimate);
            let off = match (error.abs() * 100.0).round() {
                0.0 => "within".to_owned(),
                percent => format!("{percent} % {}", if error > 0.0 { "above" } else { "below" }),
            };
            [range(&low, &high), off]
        }
        Err(NotPredicted::Transfer(refusal)) => [format!("none: `{}`", refusal.slug()), "-".to_owned()],
        Err(why) => [format!("none: {why:?}"), "-".to_owned()],
    }
}

fn row(case: &Case, plan: &Plan, told: &Told, tried: &Tried) -> String {
    let rate = |side| {
        let median = spread(&tried.runs, side).map_or(0.0, |[median, ..]| median);
        Rate::bits_per_second(median as u64).to_string()
    };
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let interval = tried.gain.lower.zip(tried.gain.upper);
    let interval =
        interval.map_or_else(String::new, |(low, high)| format!(" ({} to {})", percent(low), percent(high)));
    let change = &plan.changes[0];
    let [predicted, off] = predicted(told, tried);
    format!(
        "| {} | `{}` | `{}`: {} → {} | {} | {predicted} | {} | {off} | {}{interval} |",
        case.title,
        case.cause,
        change.setting,
        change.now,
        change.then,
        rate(Side::Old),
        rate(Side::New),
        percent(tried.gain.estimate)
    )
}

#[test]
#[ignore = "needs root"]
fn advice_of_a_diagnosis_gives_the_rate_back() {
    let asked = std::env::var("SLOWPATH_GAINS").ok();
    let runs = asked.as_ref().map_or(1, |runs| runs.parse().expect("a number of pairs"));
    let only = std::env::var("SLOWPATH_GAINS_ONLY").unwrap_or_default();
    let cases = CASES.iter().filter(|case| case.title.contains(&only));
    for case in cases.filter(|case| case.is_quick || asked.is_some()) {
        let (plan, told, tried) = case.tried(runs);
        println!("{}", row(case, &plan, &told, &tried));
        assert!(tried.gain.estimate > case.least, "{}: {:?}", case.title, tried.gain);
    }
}
