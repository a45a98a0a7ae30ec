//! What if: a transfer is fitted from its capture, the fit is checked by simulating it, and only then simulated again with
//! other settings.
//!
//! - [`trace`]: what a fit needs beyond a report; [`seen`]: a transfer in numbers.
//! - [`exchange`]: requests and responses.
//! - [`fitted`]: the fitted values; [`mod@fit`], [`loss`]: from a capture's numbers to them.
//! - [`scenario`]: the fit as a scenario; [`mod@simulate`]: a run of it.
//! - [`reproduce`]: the fit adjusted and checked; [`check`]: its tolerances.
//! - [`remedy`]: what can be tried; [`predict`]: the runs of each try, and their range.
//! - [`upgrade`]: another kernel, change by change.
//! - [`refusal`]: why nothing is predicted.

pub mod check;
pub mod exchange;
pub mod fit;
pub mod fitted;
pub mod loss;
pub mod predict;
pub mod refusal;
pub mod remedy;
pub mod reproduce;
pub mod scenario;
pub mod seen;
pub mod simulate;
pub mod trace;
pub mod upgrade;

pub use exchange::Requests;
pub use fit::{fit, readings};
pub use fitted::{Basis, Control, Fitted, Known, LossProcess, ReceiveBuffer, Writing};
pub use predict::Predicted;
pub use refusal::{Difference, Refusal};
pub use remedy::Remedy;
pub use reproduce::{Model, Reproduced};
pub use seen::Seen;
pub use simulate::simulate;
pub use trace::Traces;
pub use upgrade::Changed;
