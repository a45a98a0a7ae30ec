//! A fit of a simulated transfer has the values of its scenario, passes its check, and predicts what the scenario gives with a
//! remedy.

use slowpath_scenario::check;
use slowpath_whatif::predict::{jobs, predictions};
use slowpath_whatif::reproduce::{together, with_control};
use slowpath_whatif::{
    Control, Fitted, LossProcess, Predicted, ReceiveBuffer, Refusal, Remedy, Reproduced, Seen, fit, readings,
    simulate,
};
use std::sync::atomic::AtomicBool;

static GO: AtomicBool = AtomicBool::new(false);

/// A path of 20 Mbit/s and 40 ms, and hosts whose CPUs take no time.
const PATH: &str = "duration = \"30 s\"\n[path]\nrate = \"20 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"60 packets\"\n\
                    [hosts.sender]\nmachine = \"free\"\nnic = { tso = false, gro = false }\n\
                    [hosts.receiver]\nmachine = \"free\"\nnic = { tso = false, gro = false }\n";

/// What is transferred, if nothing else is.
const BULK: &str = "flows.amount=6 MB";

fn seen(changes: &[&str]) -> Seen {
    let is_other = |change: &&str| change.starts_with("flows.amount") || change.starts_with("flows.requests");
    let bulk = Some(&BULK).filter(|_| !changes.iter().any(is_other));
    let changes = changes.iter().chain(bulk);
    let changes: Vec<_> = changes.map(|change| change.parse().expect("a key and a value")).collect();
    let scenario = check("round trip", PATH, &changes, None).expect("a scenario").scenario;
    simulate(&scenario, &GO).expect("data")
}

fn reproduced(seen: &Seen) -> Result<Reproduced, Refusal> {
    let fitted = fit(seen, 0)?;
    let mut tried = Vec::new();
    for fitted in readings(seen, &fitted) {
        for control in Control::ALL {
            tried.push(with_control(seen, &fitted, control, &GO)?);
        }
    }
    together(tried)
}

fn fitted(seen: &Seen) -> Fitted {
    reproduced(seen).expect("it is reproduced").models[0].fitted.clone()
}

fn predicted(seen: &Seen, remedy: Remedy) -> Predicted {
    let (found, trials) = (reproduced(seen).expect("it is reproduced"), [vec![remedy]]);
    let jobs = jobs(seen, &found, &trials, 1);
    let runs: Vec<Option<Seen>> = jobs.iter().map(|job| job.run(&GO)).collect();
    predictions(&found, &trials, &jobs, &runs).remove(0)
}

fn assert_near(what: &str, fitted: f64, truth: f64, tolerance: f64) {
    assert!((fitted / truth - 1.0).abs() <= tolerance, "{what}: {fitted} is {truth}");
}

#[test]
fn full_path_has_its_rate_rtt_queue_and_control() {
    for control in Control::ALL {
        let seen = seen(&[&format!("flows.sender.socket.TCP_CONGESTION={control}")]);
        let fitted = fitted(&seen);
        assert_near("rate", fitted.rate.value.get() as f64, 20e6, 0.02);
        assert_near("RTT", fitted.rtt.value.as_secs_f64(), 0.04, 0.02);
        assert!(fitted.controls.contains(&control), "{:?} is {control}", fitted.controls);
        assert_eq!(fitted.send, None);
        if control != Control::Bbr {
            assert_near("queue", f64::from(fitted.queue.value), 60.0, 0.1);
        }
    }
}

#[test]
fn small_receive_buffer_is_fitted_and_its_remedy_predicted() {
    let small = "flows.receiver.socket.SO_RCVBUF=24 KiB";
    let seen_small = seen(&[small]);
    let fit = fitted(&seen_small);
    let ReceiveBuffer::Fixed { size, .. } = fit.receive else { panic!("{:?}", fit.receive) };
    assert_near("SO_RCVBUF", size.value.get() as f64, 24.0 * 1024.0, 0.1);
    let cured = seen(&[]);
    let predicted = predicted(&seen_small, Remedy::ReceiveBuffer(slowpath_model::Bytes::kib(32 * 1024)));
    let [low, middle, high] = predicted.rates;
    assert!(low <= cured.rate && cured.rate <= high, "{low} to {high}, {}", cured.rate);
    assert_near("rate", middle.get() as f64, cured.rate.get() as f64, 0.1);
    assert!(middle.get() > 3 * seen_small.rate.get());
}

fn assert_predicted(limited: &Seen, remedy: Remedy, cured: &Seen) {
    let [low, middle, high] = predicted(limited, remedy).rates;
    assert!(low <= cured.rate && cured.rate <= high, "{low} to {high}, {}", cured.rate);
    assert_near("rate", middle.get() as f64, cured.rate.get() as f64, 0.1);
}

/// The NIC of a virtual machine takes each packet at once, so that small queues never hold a write back.
#[test]
fn small_send_buffer_of_a_writer_that_the_nic_keeps_up_with_is_fitted() {
    let path =
        ["path.rate=30 Mbit/s", "path.delay=75 ms", "path.queue=375 packets", "flows.amount=1588040 B"];
    let path = [path[0], path[1], path[2], path[3], "hosts.sender.kernel.small-queues=false"];
    let mut small = path.to_vec();
    small.extend(["flows.sender.socket.SO_SNDBUF=32 KiB", "flows.sender.socket.TCP_NODELAY=true"]);
    let limited = seen(&small);
    let fit = fitted(&limited);
    assert!(!fit.writing.waits_for_nic, "{:?}", fit.writing);
    assert_near("SO_SNDBUF", fit.send.expect("a limit").value.get() as f64, 32.0 * 1024.0, 0.2);
    assert_predicted(&limited, Remedy::SendBuffer(slowpath_model::Bytes::kib(4096)), &seen(&path));
}

#[test]
fn receive_buffer_that_is_not_tuned_is_one_of_the_fits() {
    let path = ["path.rate=80 Mbit/s", "path.queue=2000 packets"];
    let limited = seen(&[path[0], path[1], "hosts.receiver.sysctl.tcp_moderate_rcvbuf=0"]);
    let models = reproduced(&limited).expect("it is reproduced").models;
    let untuned = models.iter().find_map(|model| match model.fitted.receive {
        ReceiveBuffer::Untuned { size, .. } => Some(size.value.get() as f64),
        _ => None,
    });
    assert_near("first size", untuned.expect("a model"), 131_072.0, 0.1);
    assert_predicted(&limited, Remedy::ReceiveBuffer(slowpath_model::Bytes::kib(32 * 1024)), &seen(&path));
}

#[test]
fn small_first_receive_buffer_is_fitted_and_another_predicted() {
    let with = |rmem: &str| {
        let rmem = format!("hosts.receiver.sysctl.tcp_rmem={rmem}");
        seen(&[
            "path.rate=80 Mbit/s",
            "path.delay=50 ms",
            "path.queue=2000 packets",
            "flows.amount=1 MB",
            &rmem,
        ])
    };
    let limited = with("4096 16384 33554432");
    assert_near("first size", fitted(&limited).first_buffer.value.get() as f64, 16_384.0, 0.2);
    let remedy = Remedy::FirstReceiveBuffer(slowpath_model::Bytes::kib(2048));
    assert_predicted(&limited, remedy, &with("4096 2097152 33554432"));
}

#[test]
fn requests_are_fitted_and_predicted_with_a_kept_window() {
    // The server is the host `sender`, as in a bulk transfer.
    let path = ["flows.from=receiver", "flows.requests.response=100 kB", "flows.requests.client-time=400 ms"];
    let with = |kept: &str| {
        let kept = format!("hosts.sender.sysctl.tcp_slow_start_after_idle={kept}");
        seen(&[path[0], path[1], path[2], "flows.requests.count=8", "path.queue=2000 packets", &kept])
    };
    let paused = with("1");
    let requests = fitted(&paused).requests.expect("requests");
    assert_eq!((requests.count, requests.response.get()), (8, 100_000));
    assert_near("client time", requests.client_time.as_secs_f64(), 0.4, 0.02);
    assert_predicted(&paused, Remedy::KeptWindow, &with("0"));
    // Pauses of other lengths are those of an application that a fit does not have.
    let mut uneven = paused;
    uneven.requests = None;
    assert_eq!(reproduced(&uneven).expect_err("no fit").slug(), "not-modelled");
}

#[test]
fn random_loss_is_told_from_a_full_queue() {
    let seen_lossy = seen(&["path.forward.loss=0.5%"]);
    let fit = fitted(&seen_lossy);
    let LossProcess::Chance(ppm) = fit.loss else { panic!("{:?}", fit.loss) };
    assert!(ppm.low <= 5000.0 && 5000.0 <= ppm.high, "{ppm:?}");
    let cured = seen(&[]);
    let predicted = predicted(&seen_lossy, Remedy::Loss(0.0));
    assert!(
        predicted.rates[0] <= cured.rate && cured.rate <= predicted.rates[2],
        "{predicted:?}, {}",
        cured.rate
    );
}

#[test]
fn what_a_fit_does_not_have_is_refused() {
    let refusal = |changes: &[&str]| reproduced(&seen(changes)).expect_err("no fit").slug();
    assert_eq!(refusal(&["flows.amount=60 kB"]), "too-little");
    assert_eq!(refusal(&["flows.sender.rate=5 Mbit/s"]), "not-modelled");
    assert_eq!(refusal(&["path.forward.loss=0.5%", "hosts.receiver.sysctl.tcp_sack=0"]), "no-sack");
    assert_eq!(refusal(&["path.forward.reorder=2%", "path.forward.reorder-by=30ms"]), "differs");
    let seen = seen(&[]);
    assert_eq!(fit(&seen, 1).expect_err("shared").slug(), "shared");
}
