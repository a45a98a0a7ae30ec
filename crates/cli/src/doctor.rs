//! `slowpath doctor`: which settings of this host would limit a transfer.

use crate::Outcome;
use crate::console::{self, Console};
use clap::{Args, ValueEnum};
use slowpath_doctor::{Aim, Asked, Files, Host, Role, judge, read};
use slowpath_model::Rate;
use slowpath_runs::values::{STREAMS, addresses, rate, rtt};
use slowpath_views::doctor;
use std::time::Duration;

/// Arguments of `doctor`.
#[derive(Args)]
#[command(after_long_help = doctor::HELP)]
pub struct Doctor {
    /// The other end, by name or address; the default route if not given
    #[arg(value_name = "HOST")]
    host: Option<String>,
    #[command(flatten)]
    transfer: Transfer,
    /// Print JSON (schema slowpath/doctor/1) with everything that was read
    #[arg(long)]
    json: bool,
}

/// The transfer that a host is examined for.
#[derive(Args)]
pub struct Transfer {
    /// The rate wanted from all connections together, such as 1Gbit/s; the speed of the link if not given
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate: Option<Rate>,
    /// RTT of the path, such as 40ms; what the kernel remembers of HOST, or else 40ms, if not given
    #[arg(long, value_name = "TIME", value_parser = rtt)]
    rtt: Option<Duration>,
    /// Parallel connections
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(STREAMS))]
    streams: u32,
    /// Examine this interface instead of the one that leads to HOST
    #[arg(long, value_name = "INTERFACE", conflicts_with = "host")]
    interface: Option<String>,
    /// The part this host plays in the transfer
    #[arg(long = "as", value_name = "ROLE", default_value = "both")]
    pub role: As,
}

/// The part this host plays in a transfer.
#[derive(Clone, Copy, ValueEnum)]
pub enum As {
    /// It sends the data
    Sender,
    /// It receives the data
    Receiver,
    /// Either
    Both,
}

impl From<As> for Role {
    fn from(role: As) -> Self {
        match role {
            As::Sender => Self::Sender,
            As::Receiver => Self::Receiver,
            As::Both => Self::Both,
        }
    }
}

impl Transfer {
    /// How its route is selected.
    pub fn asked(&self, host: Option<&str>) -> anyhow::Result<Asked> {
        Ok(match (host, &self.interface) {
            (Some(name), _) => Asked::To(addresses(name, 0)?[0].ip()),
            (None, Some(interface)) => Asked::By(interface.clone()),
            (None, None) => Asked::Default,
        })
    }

    /// Whether anything but the part of this host is given.
    pub const fn is_given(&self) -> bool {
        self.rate.is_some() || self.rtt.is_some() || self.interface.is_some() || self.streams != 1
    }

    /// Its goal, on a host.
    pub fn aim(&self, host: &Host) -> Aim {
        Aim::new(host, self.rate, self.rtt, self.streams, self.role.into())
    }
}

pub fn run(args: &Doctor, console: &Console) -> anyhow::Result<Outcome> {
    let host = read(&Files::default(), &args.transfer.asked(args.host.as_deref())?)?;
    let aim = args.transfer.aim(&host);
    let findings = judge(&host, &aim.goal);
    console::print_result(
        args.json,
        || doctor::DoctorDocument::new(&host, &aim, &findings),
        |out| doctor::print(&host, &aim, &findings, &console.look(), out),
    )?;
    let is_well = !findings.iter().any(slowpath_doctor::Finding::is_fault);
    Ok(if is_well { Outcome::Whole } else { Outcome::Partial })
}
