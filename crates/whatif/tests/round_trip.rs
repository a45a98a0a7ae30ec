//! A fit of a simulated transfer has the values of its scenario, passes its check, and predicts what the scenario gives with a
//! remedy.

use slowpath_scenario::check;
use slowpath_whatif::predict::{jobs, predictions};
use slowpath_whatif::reproduce::{together, with_control};
use slowpath_whatif::{
    Control, Fitted, LossProcess, Predicted, ReceiveBuffer, Refusal, Remedy, Reproduced, Seen, fit, simulate,
};
use std::sync::atomic::AtomicBool;

static GO: AtomicBool = AtomicBool::new(false);

/// A path of 20 Mbit/s and 40 ms, and hosts whose CPUs take no time.
const PATH: &str = "duration = \"30 s\"\n[path]\nrate = \"20 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"60 packets\"\n\
                    [hosts.sender]\nmachine = \"free\"\nnic = { tso = false, gro = false }\n\
                    [hosts.receiver]\nmachine = \"free\"\nnic = { tso = false, gro = false }\n\
                    [flows]\namount = \"6 MB\"\n";

fn seen(changes: &[&str]) -> Seen {
    let changes: Vec<_> = changes.iter().map(|change| change.parse().expect("a key and a value")).collect();
    let scenario = check("round trip", PATH, &changes, None).expect("a scenario").scenario;
    simulate(&scenario, &GO).expect("data")
}

fn reproduced(seen: &Seen) -> Result<Reproduced, Refusal> {
    let fitted = fit(seen, 0)?;
    let tried = fitted.controls.iter().map(|control| with_control(seen, &fitted, *control, &GO));
    together(tried.collect::<Result<_, _>>()?)
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
