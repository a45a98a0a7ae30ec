//! `slowpath doctor`: which settings of this host would limit a transfer.

use crate::Outcome;
use crate::choice::named;
use crate::console::{self, Console};
use clap::Args;
use clap::builder::TypedValueParser;
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
    /// The part this host plays in the transfer: it sends the data, receives it, or either
    #[arg(long = "as", value_name = "ROLE", default_value = "both", value_parser = roles())]
    pub role: Role,
}

fn roles() -> impl TypedValueParser<Value = Role> {
    let all = [(Role::Sender, "sender"), (Role::Receiver, "receiver"), (Role::Both, "both")];
    named(all.map(|(role, name)| (role, name.to_owned(), None)))
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
        Aim::new(host, self.rate, self.rtt, self.streams, self.role)
    }
}

pub fn run(args: &Doctor, console: &Console) -> anyhow::Result<Outcome> {
    let host = read(&Files::default(), &args.transfer.asked(args.host.as_deref())?)?;
    let aim = args.transfer.aim(&host);
    let findings = judge(&host, &aim.goal);
    let print = |out: &mut _| doctor::print(&host, &aim, &findings, &console.look(), out);
    console::print_result(args.json, || doctor::DoctorDocument::new(&host, &aim, &findings), print)?;
    let is_well = !findings.iter().any(slowpath_doctor::Finding::is_fault);
    Ok(if is_well { Outcome::Whole } else { Outcome::Partial })
}
