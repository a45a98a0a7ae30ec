//! Those of clocks that programs write by.

/// Writes that show a clock: of fewer, turns stay near a grid by chance.
pub const TICKS: usize = 56;

/// So many more, once it has shown.
pub const TICKS_MORE: usize = 12;

/// They have its period within this part.
pub const TICKS_ALIKE: f64 = 0.01;

/// Writes are this near to the grid, as a part of what the times between two of them vary by. If each is late by itself, that is
/// the root of a half, whatever the distribution of their delays is. Turns of [`TICKS`] have more than 1 in 99 of 100 cases.
pub const TICKS_OFF_PART: f64 = 0.85;

/// What is farther than so many times the usual distance is left out: a program that had no CPU.
pub const TICKS_OUTLIER: f64 = 4.0;

/// And within this part of the period.
pub const TICKS_WITHIN_PART: f64 = 16.0;

/// One write in so many may be another one in the same period, or follow an ACK or payload at once.
pub const TICKS_EXTRA_PART: usize = 4;

/// A shorter period, in microseconds, is that of pacing, of interrupts or of a scheduler.
pub const TICKS_LEAST_US: f64 = 4_000.0;

/// Payload of the other end that keeps the grid nearly as well, and comes in the first half of the time before each write, may
/// be what it answers.
pub const TICKS_OTHERS: f64 = 1.1;

/// What passes farther than this part of the period from the grid ...
pub const TICKS_BETWEEN: f64 = 0.2;

/// ... so often shows that the path lets packets through at any time.
pub const TICKS_PASSED: usize = 3;

/// A silence up to so many periods long is explained by the clock.
pub const TICKS_SILENT: i64 = 2;
