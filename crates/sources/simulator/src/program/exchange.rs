//! Request and response.

use super::{Done, Op, Pace};
use slowpath_model::Instant;
use slowpath_scenario::{Process, RequestResponse};

/// The next step of either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Open the connection, or wait for it.
    Open,
    /// Wait before the next message.
    Think,
    /// Send this many more bytes.
    Send(u64),
    /// Receive this many more bytes.
    Receive(u64),
    /// Close the connection, and open another if configured.
    Close,
    /// Wait before the next connection.
    Rest,
    /// Nothing more.
    Over,
}

/// The state of the exchange.
#[derive(Debug)]
struct Exchange {
    plan: RequestResponse,
    pace: Pace,
    stage: Stage,
    /// Exchanges finished.
    finished: u64,
}

impl Exchange {
    fn new(process: &Process, plan: &RequestResponse) -> Self {
        Self { plan: plan.clone(), pace: Pace::new(process), stage: Stage::Open, finished: 0 }
    }

    /// The length of the next response.
    fn response(&self) -> u64 {
        let count = self.plan.responses.len().max(1) as u64;
        self.plan.responses.get((self.finished % count) as usize).map_or(1, |bytes| bytes.get())
    }

    fn is_over(&self) -> bool {
        self.plan.count.is_some_and(|count| self.finished >= count)
    }

    /// Updates the stage with the result of an operation.
    fn note(&mut self, now: Instant, done: Done) {
        match (done, &mut self.stage) {
            (Done::Connected, _) => self.pace.open(now),
            (Done::Wrote(bytes), Stage::Send(left)) => {
                *left -= bytes.min(*left);
                self.pace.moved(bytes);
            }
            (Done::Read(bytes), Stage::Receive(left)) if bytes > 0 => {
                *left -= bytes.min(*left);
                self.pace.moved(bytes);
            }
            // The other side has closed.
            (Done::Read(_), Stage::Receive(_)) => self.stage = Stage::Close,
            (Done::Failed, _) => self.stage = Stage::Over,
            _ => {}
        }
    }

    fn transfer(&mut self, now: Instant) -> Op {
        if let Some(until) = self.pace.sleeps(now) {
            return Op::Sleep(until);
        }
        match self.stage {
            Stage::Send(left) => Op::Write(left.min(self.pace.call_size())),
            Stage::Receive(left) => Op::Read(left.min(self.pace.call_size())),
            _ => Op::Exit,
        }
    }
}

/// Sends requests.
#[derive(Debug)]
pub struct Client(Exchange);

impl Client {
    /// A client.
    pub fn new(process: &Process, plan: &RequestResponse) -> Self {
        Self(Exchange::new(process, plan))
    }

    pub(super) fn next(&mut self, now: Instant, done: Done) -> Op {
        let exchange = &mut self.0;
        exchange.note(now, done);
        loop {
            match exchange.stage {
                Stage::Open if done == Done::Connected => {
                    exchange.stage = Stage::Send(exchange.plan.request.get());
                }
                Stage::Open => return Op::Connect,
                Stage::Send(0) => exchange.stage = Stage::Receive(exchange.response()),
                Stage::Receive(0) => {
                    exchange.finished += 1;
                    let each = exchange.plan.connection_each || exchange.is_over();
                    exchange.stage = if each { Stage::Close } else { Stage::Think };
                }
                Stage::Think => {
                    exchange.stage = Stage::Send(exchange.plan.request.get());
                    if !exchange.plan.client_time.is_zero() {
                        return Op::Sleep(now + exchange.plan.client_time);
                    }
                }
                Stage::Close => {
                    exchange.stage = if exchange.is_over() { Stage::Over } else { Stage::Rest };
                    return Op::Close;
                }
                Stage::Rest => {
                    exchange.stage = Stage::Open;
                    if !exchange.plan.client_time.is_zero() {
                        return Op::Sleep(now + exchange.plan.client_time);
                    }
                }
                Stage::Over => return Op::Exit,
                Stage::Send(_) | Stage::Receive(_) => return exchange.transfer(now),
            }
        }
    }
}

/// Sends responses.
#[derive(Debug)]
pub struct Server(Exchange);

impl Server {
    /// A server.
    pub fn new(process: &Process, plan: &RequestResponse) -> Self {
        Self(Exchange::new(process, plan))
    }

    pub(super) fn next(&mut self, now: Instant, done: Done) -> Op {
        let exchange = &mut self.0;
        exchange.note(now, done);
        loop {
            match exchange.stage {
                Stage::Open if done == Done::Connected => {
                    exchange.stage = Stage::Receive(exchange.plan.request.get());
                }
                Stage::Open => return Op::Accept,
                Stage::Receive(0) => exchange.stage = Stage::Think,
                Stage::Think => {
                    exchange.stage = Stage::Send(exchange.response());
                    if !exchange.plan.server_time.is_zero() {
                        return Op::Sleep(now + exchange.plan.server_time);
                    }
                }
                Stage::Send(0) => {
                    exchange.finished += 1;
                    exchange.stage = Stage::Receive(exchange.plan.request.get());
                }
                Stage::Close => {
                    exchange.stage = if exchange.is_over() { Stage::Over } else { Stage::Open };
                    return Op::Close;
                }
                Stage::Rest | Stage::Over => return Op::Exit,
                Stage::Send(_) | Stage::Receive(_) => return exchange.transfer(now),
            }
        }
    }
}
