//! Delivery rate samples (net/ipv4/tcp_rate.c, 6.18; draft-cheng-iccrg-delivery-rate-estimation).

use super::sender::NewestDelivered;
use super::skb::{SentRecord, Skb};
use crate::congestion::RateSample;
use crate::connection::Connection;
use slowpath_model::Instant;
use std::time::Duration;

impl Connection {
    /// `tcp_rate_skb_sent`: stores the delivery state in a segment that is sent now.
    pub(super) fn rate_sent(&mut self, now: Instant, segments: u32) -> SentRecord {
        if self.snd.packets_out == 0 {
            self.snd.rate.first_sent = now;
            self.snd.rate.delivered_at = now;
        }
        SentRecord {
            first_sent: self.snd.rate.first_sent,
            delivered_at: self.snd.rate.delivered_at,
            delivered: self.snd.delivered,
            app_limited: self.snd.rate.app_limited.is_some(),
            lost: self.snd.lost,
            delivered_ce: self.snd.delivered_ce,
            in_flight: self.snd.in_flight() + segments,
        }
    }

    /// `tcp_rate_skb_delivered`.
    pub(super) fn rate_delivered(&mut self, now: Instant, skb: &Skb) {
        let rate = &mut self.snd.rate;
        let newer = rate.newest.is_none_or(|newest| {
            (skb.sent.delivered, skb.sent_at) >= (newest.record.delivered, newest.sent_at)
        });
        if newer {
            rate.newest = Some(NewestDelivered { record: skb.sent, sent_at: skb.sent_at });
            rate.first_sent = skb.sent_at;
        }
        rate.delivered_at = now;
    }

    /// `tcp_rate_gen`: the rate sample of an ACK.
    pub(super) fn rate_sample(&mut self, now: Instant) -> RateSample {
        let delivered = self.snd.delivered;
        let least = self.min_rtt_us();
        let rate = &mut self.snd.rate;
        if rate.app_limited.is_some_and(|until| (delivered.wrapping_sub(until) as i32) > 0) {
            rate.app_limited = None;
        }
        let Some(newest) = rate.newest.filter(|_| !self.snd.reneging) else {
            let sent_in_flight = rate.newest.map_or(0, |newest| newest.record.in_flight);
            return RateSample { sent_in_flight, ..RateSample::default() };
        };
        let sending = newest.sent_at.since(newest.record.first_sent).unwrap_or_default();
        let acking = now.since(newest.record.delivered_at).unwrap_or_default();
        let interval = sending.max(acking);
        let count = delivered.wrapping_sub(newest.record.delivered);
        let mut sample = RateSample {
            delivered: Some(count),
            prior_delivered: newest.record.delivered,
            sent_in_flight: newest.record.in_flight,
            lost: self.snd.lost.wrapping_sub(newest.record.lost),
            delivered_ce: self.snd.delivered_ce.wrapping_sub(newest.record.delivered_ce),
            app_limited: newest.record.app_limited,
            ..RateSample::default()
        };
        // An interval shorter than the minimum RTT is an artefact of ACK compression.
        if least.is_some_and(|least| interval < Duration::from_micros(u64::from(least))) || interval.is_zero()
        {
            return sample;
        }
        sample.interval_us = u32::try_from(interval.as_micros()).ok().filter(|us| *us > 0);
        let app_limited = newest.record.app_limited;
        let faster =
            u128::from(count) * rate.interval.as_nanos() >= u128::from(rate.delivered) * interval.as_nanos();
        if !app_limited || rate.interval.is_zero() || faster {
            rate.delivered = count;
            rate.interval = interval;
            rate.sample_app_limited = app_limited;
        }
        sample
    }

    /// Marks the rate samples of data in flight as application-limited.
    pub(super) fn mark_app_limited(&mut self) {
        self.snd.rate.app_limited = Some((self.snd.delivered + self.snd.in_flight()).max(1));
    }

    /// `tcp_rate_check_app_limited`: called when the application has no more to send for now.
    pub(crate) fn check_app_limited(&mut self) {
        let snd = &mut self.snd;
        let little = snd.write_seq.distance_from(snd.nxt) < i64::from(snd.mss);
        if little && snd.in_flight() < snd.window.cwnd && snd.lost_out <= snd.retrans_out {
            self.mark_app_limited();
        }
    }

    /// The check of a kernel that looks for an application limit when an ACK or a timer comes, before cwnd changes.
    pub(crate) fn recheck_app_limited(&mut self) {
        if self.congestion.checks_app_limited_often() {
            self.check_app_limited();
        }
    }

    /// The last rate, in bytes per second, and whether it was application-limited (`tcp_compute_delivery_rate`).
    pub(super) fn delivery_rate(&self) -> (u64, bool) {
        let rate = &self.snd.rate;
        let micros = rate.interval.as_micros().max(1);
        let bytes = u128::from(rate.delivered) * u128::from(self.snd.mss) * 1_000_000;
        let rate_bytes =
            if rate.interval.is_zero() { 0 } else { u64::try_from(bytes / micros).unwrap_or(u64::MAX) };
        (rate_bytes, rate.sample_app_limited)
    }
}
