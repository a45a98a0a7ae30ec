//! Whether a fit that passed its check contradicts the truth.

use slowpath_lab::experiment::Experiment;
use slowpath_lab::workload::{Reader, Workload, Writer};
use slowpath_path::link::QueueLimit;
use slowpath_path::loss::LossConfig;
use slowpath_whatif::{Basis, LossProcess, Model, ReceiveBuffer};

/// The true rate may be outside the fitted range by this part.
const BEYOND: f64 = 0.02;

/// The RTT of a fit, and a policer's rate, may be off by this part.
const OFF: f64 = 0.05;

/// RTTs may be off by this much, in seconds: what the machine of the lab adds.
const RTT_OFF: f64 = 0.001;

/// A queue may be off by this part, or by some packets: those in the queue when one was dropped, and in the sender's burst.
const QUEUE_OFF: f64 = 0.15;
const QUEUE_PACKETS: f64 = 4.0;

/// The chance of a loss may be outside its 95 % range by this factor.
const LOSS_FACTOR: f64 = 1.5;

/// Whether it is one bulk transfer in one direction, recorded as a whole.
pub fn is_bulk(experiment: &Experiment) -> bool {
    let Workload::Streams(streams) = &experiment.workload else { return false };
    let [stream] = streams.as_slice() else { return false };
    let writes_all = matches!(stream.writer, Writer::For { .. } | Writer::Total { .. });
    let path = &experiment.forward;
    stream.count == 1
        && writes_all
        && matches!(stream.reader, Reader::Greedy)
        && experiment.recording.omissions.is_empty()
        && path.middleboxes.is_empty()
        && experiment.backward.middleboxes.is_empty()
        && path.reorder.is_none()
        && path.link.as_ref().is_some_and(|link| link.stalls.is_empty())
        && experiment
            .backward
            .link
            .as_ref()
            .is_none_or(|back| back.rate >= path.link.as_ref().map_or(back.rate, |link| link.rate))
        && path.loss.iter().all(|loss| matches!(loss, LossConfig::Random { .. }))
        && experiment.warm_up_bytes.is_none()
        && experiment.settings.sender_socket.max_pacing_rate_bit_per_s.is_none()
}

/// Where a fit contradicts what was done.
pub fn contradictions(experiment: &Experiment, model: &Model, segments: u64) -> Vec<String> {
    let mut wrong = Vec::new();
    let fitted = &model.fitted;
    let path = &experiment.forward;
    let mut say =
        |what: &str, fitted: f64, truth: f64| wrong.push(format!("{what} {fitted:.6} is {truth:.6}"));
    if let Some(link) = &path.link {
        // The fit counts IPv4 packets of the same payload; a full packet of the lab has 1,500 bytes.
        let truth = link.rate.get() as f64 * fitted.mtu.get() as f64 / 1500.0;
        let [low, rate, high] =
            [fitted.rate.low, fitted.rate.value, fitted.rate.high].map(|rate| rate.get() as f64);
        if truth < low * (1.0 - BEYOND) || truth > high * (1.0 + BEYOND) {
            say("rate", rate, truth);
        }
        if let (QueueLimit::Packets(truth), Basis::DelayAtLoss { .. }) = (link.queue, fitted.queue.basis) {
            let (queue, truth) = (f64::from(fitted.queue.value), f64::from(truth));
            if (queue - truth).abs() > QUEUE_PACKETS.max(QUEUE_OFF * truth) {
                say("queue", queue, truth);
            }
        }
    }
    let (rtt, truth) =
        (fitted.rtt.value.as_secs_f64(), (path.delay + experiment.backward.delay).as_secs_f64());
    if (rtt - truth).abs() > RTT_OFF.max(OFF * truth) {
        say("RTT", rtt, truth);
    }
    let chance: f64 = path
        .loss
        .iter()
        .map(|loss| match loss {
            LossConfig::Random { probability_ppm } => f64::from(*probability_ppm),
            _ => 0.0,
        })
        .sum();
    match (&fitted.loss, &path.policer) {
        (LossProcess::Chance(known), None) if chance > 0.0 => {
            if chance < known.low / LOSS_FACTOR || chance > known.high * LOSS_FACTOR {
                say("loss", known.value, chance);
            }
        }
        (LossProcess::Chance(known), _) => say("loss", known.value, 0.0),
        // Fewer than five were to be expected.
        (LossProcess::None, None) if chance * segments as f64 > 5e6 => say("loss", 0.0, chance),
        (LossProcess::Policer { rate, .. }, Some(policer)) => {
            let (rate, truth) = (rate.value.get() as f64, policer.rate.get() as f64);
            if (rate / truth - 1.0).abs() > OFF {
                say("policer", rate, truth);
            }
        }
        (LossProcess::Policer { rate, .. }, None) => say("policer", rate.value.get() as f64, 0.0),
        (LossProcess::None, Some(policer)) => say("policer", 0.0, policer.rate.get() as f64),
        (LossProcess::None, None) => {}
    }
    of_hosts(experiment, model, &mut wrong);
    if path.reorder.is_some() {
        wrong.push("the path reorders".to_owned());
    }
    wrong
}

fn of_hosts(experiment: &Experiment, model: &Model, wrong: &mut Vec<String>) {
    let (fitted, settings) = (&model.fitted, &experiment.settings);
    let control = settings.sender_socket.congestion_control.as_deref().unwrap_or("cubic");
    if !fitted.controls.iter().any(|fitted| fitted.name() == control) {
        wrong.push(format!("congestion control {:?} is {control}", fitted.controls));
    }
    let has = |sysctls: &[(String, String)], name: &str| sysctls.iter().any(|(key, _)| key.ends_with(name));
    let receiver = &settings.receiver_socket;
    let is_bound = receiver.so_rcvbuf_bytes.is_some()
        || receiver.window_clamp_bytes.is_some()
        || receiver.window_clamp_at_handshake_bytes.is_some()
        || has(&settings.receiver_sysctls, "tcp_rmem")
        || has(&settings.receiver_sysctls, "tcp_moderate_rcvbuf");
    let is_fitted = match &fitted.receive {
        ReceiveBuffer::Fixed { .. } | ReceiveBuffer::Untuned { .. } => true,
        ReceiveBuffer::Tuned(most) => matches!(most.basis, Basis::LargestWindow { .. }),
    };
    if is_fitted && !is_bound {
        wrong.push("the receive buffer is not bound".to_owned());
    }
    let sends = settings.sender_socket.so_sndbuf_bytes.is_some() || has(&settings.sender_sysctls, "tcp_wmem");
    if fitted.send.is_some() != sends {
        wrong.push(format!("a send buffer {:?} is {sends}", fitted.send.map(|size| size.value)));
    }
}
