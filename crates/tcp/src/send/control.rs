//! Calls into the congestion control, and the use of its results (net/ipv4/tcp_cong.c, 6.18).

use crate::choices::LossDetection;
use crate::congestion::{CaEvent, CaState, Moment};
use crate::connection::Connection;
use slowpath_model::Instant;

impl Connection {
    /// The congestion control's input at this moment.
    pub(crate) fn moment(&self, now: Instant) -> Moment {
        Moment {
            now,
            state: self.snd.ca_state,
            mss: self.snd.mss,
            snd_una: self.snd.una,
            snd_nxt: self.snd.nxt,
            srtt: self.snd.rtt.smoothed(),
            pacing_rate: self.snd.pacing_rate,
            paced: self.is_paced(),
            last_sent: self.snd.last_sent,
            hz: self.settings.choices.clock.hz,
            in_flight: self.snd.in_flight(),
            delivered: self.snd.delivered,
            delivered_ce: self.snd.delivered_ce,
            lost: self.snd.lost,
            delivered_at: self.snd.rate.delivered_at(),
            wire_at: self.snd.wire_at,
            app_limited: self.snd.rate.is_app_limited(),
            least_rtt_us: self.min_rtt_us(),
            most_pacing_rate: self.options.max_pacing_rate,
            least_tso_segments: self.settings.sysctls.tcp_min_tso_segs,
            ecn_low: self.negotiated.ecn.is_on() && self.settings.route.ecn_low,
            hystart: self.settings.choices.hystart,
            bbr_ack_aggregation: self.settings.choices.bbr_ack_aggregation,
        }
    }

    /// `tcp_init_congestion_control`.
    pub(crate) fn begin_congestion_control(&mut self, now: Instant) {
        let moment = self.moment(now);
        self.congestion.init(&mut self.snd.window, &moment);
        self.follow_control();
    }

    /// `tcp_ca_event`.
    pub(crate) fn tell_control(&mut self, now: Instant, event: CaEvent) {
        let moment = self.moment(now);
        self.congestion.event(event, &mut self.snd.window, &moment);
        self.follow_control();
    }

    /// Adopts the pacing rate of a congestion control that paces.
    pub(crate) fn follow_control(&mut self) {
        if self.congestion.paces {
            self.snd.pacing_rate = self.congestion.pacing_rate().unwrap_or(0);
        }
    }

    /// Whether losses are detected by time (`tcp_is_rack`): it needs SACK.
    pub(crate) fn uses_rack(&self) -> bool {
        self.negotiated.sack && self.settings.choices.loss_detection == LossDetection::Rack
    }

    /// Whether the connection has no SACK (`tcp_is_reno`).
    pub(crate) const fn is_reno(&self) -> bool {
        !self.negotiated.sack
    }

    pub(crate) fn set_ca_state(&mut self, now: Instant, state: CaState) {
        let moment = self.moment(now);
        self.congestion.set_state(state, &mut self.snd.window, &moment);
        self.snd.ca_state = state;
    }

    /// Whether the sender is recovering from loss.
    pub(crate) fn in_loss_or_recovery(&self) -> bool {
        self.snd.ca_state >= CaState::Recovery
    }
}
