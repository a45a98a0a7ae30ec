//! The options that run programs in place of a scenario's flows.

use crate::choice::ends;
use clap::{Args, ValueHint};
use slowpath_lab::host::Host;
use slowpath_lab::scenario::Instead;

/// What runs instead of the scenario's flows.
#[derive(Args)]
#[command(next_help_heading = "Your own programs in place of the scenario's flows")]
pub struct Programs {
    /// A server, as a shell command; it must listen on a TCP port within ten seconds. {server} and {client} are replaced by
    /// the addresses of the hosts
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString, requires = "client")]
    server: Option<String>,
    /// A client, as a shell command; it starts on the other host when the server listens. The run is over when it ends, or
    /// after the scenario's duration
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString, requires = "server")]
    client: Option<String>,
    /// The host of the server, by what it does in the scenario's first flow; by default the one that receives
    #[arg(long, value_name = "HOST", requires = "server", value_parser = ends())]
    server_at: Option<Host>,
}

impl Programs {
    /// The programs, if there are any.
    pub fn instead(&self) -> Option<Instead> {
        let (server, client) = (self.server.clone()?, self.client.clone()?);
        Some(Instead { server_at: self.server_at.unwrap_or(Host::Receiver), server, client })
    }
}
