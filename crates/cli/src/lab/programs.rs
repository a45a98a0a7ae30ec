//! The options that run programs in place of a scenario's flows.

use clap::{Args, ValueEnum, ValueHint};
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
    /// The host of the server; by default the one that receives in the scenario
    #[arg(long, value_name = "HOST", requires = "server")]
    server_at: Option<At>,
}

/// A host by what it does in the scenario's first flow.
#[derive(Clone, Copy, ValueEnum)]
enum At {
    /// The one that sends
    Sender,
    /// The one that receives
    Receiver,
}

impl Programs {
    /// The programs, if there are any.
    pub fn instead(&self) -> Option<Instead> {
        let (server, client) = (self.server.clone()?, self.client.clone()?);
        let server_at = match self.server_at {
            Some(At::Sender) => Host::Sender,
            Some(At::Receiver) | None => Host::Receiver,
        };
        Some(Instead { server_at, server, client })
    }
}
