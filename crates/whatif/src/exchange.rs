//! Requests and responses: one end asks, the other answers, and only then it is asked again.
//!
//! A tap next to the end that answers sees when a request came, when its answer began, and when all of it was acknowledged. Memory
//! is bounded: it keeps 10,000 exchanges of a flow.

use slowpath_model::{Bytes, End, Instant, Segment, StreamOffset};
use std::time::Duration;

/// Exchanges kept; a flow with more is not fitted as one of requests.
const MOST_EXCHANGES: usize = 10_000;

/// Fewer do not show that they are alike.
const LEAST_EXCHANGES: usize = 3;

/// Requests and responses may differ in length by this part: numbers and dates in their headers.
const SAME_LENGTH: f64 = 0.01;

/// Times between them may differ by this part, or by this much: what a host's scheduler adds to a sleep.
const SAME_TIME: f64 = 0.05;
const SAME_TIME_LEAST: Duration = Duration::from_millis(5);

/// One request, and its response.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    /// Payload of both.
    request: u64,
    response: u64,
    /// When the request was there.
    asked: Instant,
    /// When the response began.
    began: Option<Instant>,
    /// When all of it was acknowledged.
    done: Option<Instant>,
}

/// The exchanges of a flow in which one end answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exchanges {
    all: Vec<Exchange>,
    /// There was data that no request asked for, or a request before the response to the one before was acknowledged.
    is_otherwise: bool,
    /// The end of the response so far.
    sent: Option<StreamOffset>,
}

/// Exchanges that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requests {
    /// Number of requests whose response is complete.
    pub count: u64,
    /// Payload of a request.
    pub request: Bytes,
    /// Payload of a response.
    pub response: Bytes,
    /// From a request to its response.
    pub server_time: Duration,
    /// From the last ACK of a response to the next request.
    pub client_time: Duration,
}

impl Exchanges {
    /// New data of the flow, for the end `answers`.
    pub fn on_data(&mut self, at: Instant, segment: &Segment, answers: End) {
        if self.is_otherwise {
            return;
        }
        let len = u64::from(segment.len);
        if segment.from == answers {
            let Some(exchange) = self.all.last_mut() else {
                self.is_otherwise = true;
                return;
            };
            exchange.began.get_or_insert(at);
            exchange.response += len;
            exchange.done = None;
            self.sent = Some(segment.first_byte() + segment.len);
            return;
        }
        if let Some(exchange) = self.all.last_mut().filter(|exchange| exchange.began.is_none()) {
            exchange.request += len;
            exchange.asked = at;
            return;
        }
        // Its ACK may be the first of the end of the response.
        self.on_ack(at, segment, answers);
        self.is_otherwise |= self.all.last().is_some_and(|exchange| exchange.done.is_none());
        if self.all.len() == MOST_EXCHANGES {
            self.is_otherwise = true;
            return;
        }
        self.all.push(Exchange { request: len, response: 0, asked: at, began: None, done: None });
    }

    /// An ACK for the end `answers`.
    pub fn on_ack(&mut self, at: Instant, segment: &Segment, answers: End) {
        if segment.from == answers {
            return;
        }
        let (Some(ack), Some(sent), Some(exchange)) = (segment.ack, self.sent, self.all.last_mut()) else {
            return;
        };
        if exchange.began.is_some() && ack.distance_from(sent) >= 0 {
            exchange.done.get_or_insert(at);
        }
    }

    /// The exchanges, if they are alike.
    pub fn alike(&self) -> Option<Requests> {
        let mut whole: Vec<&Exchange> = self.all.iter().filter(|exchange| exchange.began.is_some()).collect();
        // The end of the recording may have cut the last one off.
        if let [.., before, last] = whole[..]
            && (last.response as f64) * (1.0 + SAME_LENGTH) < before.response as f64
        {
            whole.pop();
        }
        if self.is_otherwise || whole.len() < LEAST_EXCHANGES {
            return None;
        }
        let length = |of: fn(&Exchange) -> u64| {
            let mut all: Vec<u64> = whole.iter().map(|exchange| of(exchange)).collect();
            all.sort_unstable();
            let (least, most, middle) = (all[0], all[all.len() - 1], all[all.len() / 2]);
            (most as f64 <= least as f64 * (1.0 + SAME_LENGTH)).then_some(Bytes::new(middle))
        };
        let (request, response) =
            (length(|exchange| exchange.request)?, length(|exchange| exchange.response)?);
        let server = whole.iter().filter_map(|exchange| exchange.began?.since(exchange.asked));
        let pairs = self.all.windows(2);
        let client = pairs.filter_map(|pair| pair[1].asked.since(pair[0].done?));
        Some(Requests {
            count: whole.len() as u64,
            request,
            response,
            server_time: same_time(server.collect())?,
            client_time: same_time(client.collect())?,
        })
    }
}

/// The median of times that are alike.
fn same_time(mut times: Vec<Duration>) -> Option<Duration> {
    times.sort_unstable();
    let (least, most) = (times.first()?, times.last()?);
    let middle = times[times.len() / 2];
    (*most - *least <= middle.mul_f64(SAME_TIME).max(SAME_TIME_LEAST)).then_some(middle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::Flags;

    /// A client (A) that asks for `responses` in turn, and waits that many milliseconds before each.
    fn exchanges(responses: &[(u32, u64)]) -> Exchanges {
        let mut all = Exchanges::default();
        let (mut at, mut asked, mut answered) = (Instant::START, StreamOffset(1), StreamOffset(1));
        for (len, wait_ms) in responses {
            at = at + Duration::from_millis(*wait_ms);
            let request = Segment { ack: Some(answered), ..Segment::new(End::A, Flags::ACK, asked, 300) };
            all.on_data(at, &request, End::B);
            asked = asked + 300;
            at = at + Duration::from_millis(1);
            all.on_data(at, &Segment::new(End::B, Flags::ACK, answered, *len), End::B);
            answered = answered + *len;
            at = at + Duration::from_millis(40);
            let ack = Segment { ack: Some(answered), ..Segment::new(End::A, Flags::ACK, asked, 0) };
            all.on_ack(at, &ack, End::B);
        }
        all
    }

    #[test]
    fn requests_that_are_alike_have_their_lengths_and_times() {
        let found = exchanges(&[(5000, 7), (5000, 500), (5010, 502), (5000, 500)]).alike().expect("alike");
        let expected = Requests {
            count: 4,
            request: Bytes::new(300),
            response: Bytes::new(5000),
            server_time: Duration::from_millis(1),
            client_time: Duration::from_millis(500),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn other_lengths_other_waits_and_too_few_are_not_alike() {
        for all in [
            &[(5000, 7), (5000, 500), (9000, 500), (5000, 500)][..],
            &[(5000, 7), (5000, 500), (5000, 900), (5000, 500)],
            &[(5000, 7), (5000, 500)],
        ] {
            assert_eq!(exchanges(all).alike(), None, "{all:?}");
        }
    }

    #[test]
    fn last_response_may_be_cut_off() {
        let found = exchanges(&[(5000, 7), (5000, 500), (5000, 500), (1448, 500)]).alike();
        assert_eq!(found.map(|found| found.count), Some(3));
        assert_eq!(exchanges(&[(5000, 7), (5000, 500), (1448, 500), (5000, 500)]).alike(), None);
    }

    #[test]
    fn data_that_nobody_asked_for_is_otherwise() {
        let mut all = Exchanges::default();
        all.on_data(Instant::START, &Segment::new(End::B, Flags::ACK, StreamOffset(1), 100), End::B);
        assert_eq!(all.alike(), None);
    }
}
