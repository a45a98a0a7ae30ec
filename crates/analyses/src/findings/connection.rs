//! How a connection opened, and how it ended.

use super::Material;
use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::limits::thresholds;
use crate::report::{Measures, Unheard};
use slowpath_model::Bytes;

impl Material<'_> {
    pub(super) fn connection(&self, cause: Cause, found: &mut Vec<Evidence>) {
        let opening = self.opening;
        let lost = opening.lost_syns().into();
        match (cause, opening.retransmitted) {
            (Cause::PeerGone, _) => self.peer_gone(found),
            (cause, _) if cause.is_reset() => self.reset(found),
            (Cause::NoAnswer, _) => {
                found.push(Evidence::SynUnanswered { times: opening.unanswered.into() });
            }
            (Cause::Refused, _) => {
                let after = self.last.since(self.first).unwrap_or_default();
                found.push(Evidence::SynRefused { after });
            }
            (Cause::Unreachable, _) => found.extend(self.icmp_errors()),
            (Cause::AcceptQueueFull, _) => found.push(Evidence::SynAckAgain {
                times: opening.unaccepted.into(),
                data: opening.unaccepted_data.into(),
            }),
            (Cause::OldConnection, _) => {
                found.push(Evidence::ChallengeAck { times: opening.challenges.into() });
            }
            (Cause::FastOpenLost, _) => found.push(Evidence::SynDataLost { times: lost }),
            (Cause::NotAnswered, _) if opening.unanswered_syn_acks > 0 => {
                found.push(Evidence::SynAckNotAnswered {
                    times: opening.unanswered_syn_acks.into(),
                    wrong_checksum: opening.damaged_syn_acks.into(),
                });
            }
            (Cause::NotAnswered, _) => {
                let wrong_checksum = opening.unanswered_wrong_checksum.into();
                found.push(Evidence::SynNotAnswered { times: lost, wrong_checksum });
            }
            (_, 0) => found.extend(opening.round_trip.map(|rtt| Evidence::Handshake { rtt })),
            (_, times) => found.push(Evidence::SynRetransmitted { times: times.into() }),
        }
    }

    fn peer_gone(&self, found: &mut Vec<Evidence>) {
        let fin = self.closing.fin_unanswered[self.from.index()];
        found.extend(fin.map(|(times, lasted)| Evidence::FinUnanswered { times: times.into(), lasted }));
        let Some(unheard) = self.unheard() else { return };
        let lasted = self.last.since(unheard.since).unwrap_or_default();
        let retransmissions = unheard.tries.into();
        found.push(match unheard.unaware {
            0 => Evidence::PeerSilent { lasted, retransmissions },
            segments => Evidence::PeerUnaware { lasted, retransmissions, segments: segments.into() },
        });
        if unheard.pause >= thresholds::PAUSE {
            found.push(Evidence::SilentAfterPause { pause: unheard.pause });
        }
        if unheard.is_only_large() {
            let smallest = Bytes::new(unheard.smallest.into());
            found.push(Evidence::OnlyLargeUnanswered { smallest });
        }
        found.extend(self.icmp_errors());
    }

    /// What the end sent last that tried often in vain.
    pub(super) fn unheard(&self) -> Option<Unheard> {
        let unheard = self.sent.unusual().unheard.or(self.answered.unusual().unheard);
        unheard.filter(|unheard| unheard.tries >= thresholds::LEAST_TRIES)
    }

    pub(super) fn icmp_errors(&self) -> Option<Evidence> {
        let of_both = [self.sent, self.answered].map(Measures::unusual);
        let of_one = of_both.into_iter().find(|unusual| unusual.icmp_errors > 0)?;
        of_one.icmp_kind.map(|kind| Evidence::IcmpErrors { times: of_one.icmp_errors, kind })
    }

    fn reset(&self, found: &mut Vec<Evidence>) {
        found.extend(self.closing.stray.map(|flow| Evidence::StraySegment { flow: flow.0.into() }));
        let Some(reset) = &self.closing.reset else { return };
        if reset.cause == Some(Cause::ResetUnknown) {
            found.push(Evidence::ConnectionNotKnown {});
        }
        if let Some((ttl, usual)) = reset.ttl {
            found.push(Evidence::OtherTtl { ttl: ttl.into(), usual: usual.into() });
        }
        let too_soon = reset.too_soon.map(|(after, shortest)| Evidence::AnsweredTooSoon { after, shortest });
        found.extend(too_soon);
        if reset.went_on {
            found.push(Evidence::WentOnSending {});
        }
        if reset.acknowledged_more {
            found.push(Evidence::WentOnReceiving {});
        }
        if reset.pause >= thresholds::PAUSE && reset.cause != Some(Cause::ResetAborted) {
            found.push(Evidence::ResetAfterPause { pause: reset.pause });
        }
        let [of_resetter, of_other] = reset.unacknowledged.map(|bytes| Bytes::new(bytes.into()));
        if of_resetter + of_other > Bytes::ZERO {
            found.push(Evidence::UnacknowledgedAtReset { of_resetter, of_other });
        }
    }
}
