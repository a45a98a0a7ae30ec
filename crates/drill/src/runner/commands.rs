//! Shell commands.

use super::{Failure, Note, Runner, Step};
use crate::counters::Query;
use crate::kernel::Understood;
use crate::shell::{self, Command};
use slowpath_model::Instant;
use std::time::Duration;

/// The maximum nesting of shell scripts.
const DEEPEST: u32 = 4;
/// The maximum number of included files of a script. A thousand that include a thousand each would take for ever.
const MOST_INCLUDED: usize = 1000;

/// The settings of `defaults.sh`, used if that file is missing. Scripts from Linux's tree expect it next to them:
/// settings of production hosts, on which their expectations are based.
const DEFAULTS: &str = "\
ip tcp_metrics flush all
sysctl -q net.ipv4.tcp_rmem='4096 540000 15728640'
sysctl -q net.ipv4.tcp_wmem='4096 262144 4194304'
sysctl -q net.ipv4.tcp_timestamps=1 net.ipv4.tcp_sack=1 net.ipv4.tcp_dsack=1 net.ipv4.tcp_fack=0
sysctl -q net.ipv4.tcp_syn_retries=5 net.ipv4.tcp_synack_retries=5 net.ipv4.tcp_frto=2
sysctl -q net.ipv4.tcp_reordering=3 net.ipv4.tcp_congestion_control=cubic
sysctl -q net.ipv4.tcp_slow_start_after_idle=0 net.ipv4.tcp_ecn=0
sysctl -q net.ipv4.tcp_pacing_ss_ratio=200 net.ipv4.tcp_pacing_ca_ratio=120
sysctl -q net.ipv4.tcp_notsent_lowat=4294967295 net.ipv4.tcp_syncookies=1
sysctl -q net.ipv4.tcp_early_retrans=4 net.ipv4.tcp_recovery=1 net.ipv4.tcp_tso_win_divisor=3
sysctl -q net.ipv4.tcp_fastopen=0x70403 net.ipv4.tcp_fastopen_key=a1a1a1a1-b2b2b2b2-c3c3c3c3-d4d4d4d4
tc qdisc add dev tun0 root pfifo
";

impl Runner<'_> {
    pub(super) fn shell(&mut self, text: &str, line: u32) -> Step {
        self.shell_at(text, line, 0)
    }

    fn shell_at(&mut self, text: &str, line: u32, depth: u32) -> Step {
        shell::commands(text).into_iter().try_for_each(|command| self.execute(command, line, depth))
    }

    fn execute(&mut self, command: Command, line: u32, depth: u32) -> Step {
        match command {
            Command::Nothing => {}
            Command::Sleep(millis) => self.sleep(Duration::from_millis(millis), line)?,
            Command::Include(path) => self.include(&path, line, depth)?,
            Command::Unknown(text) => self.note(line, format!("`{text}` is not understood and left out")),
            Command::Counters(query) => self.look(&query, line)?,
            Command::Either { first, second } => {
                if !matches!(self.kernel.command(&first), Ok(Understood::Yes)) {
                    second.into_iter().try_for_each(|command| self.execute(command, line, depth))?;
                }
            }
            command => self.set(&command, line)?,
        }
        Ok(())
    }

    fn include(&mut self, path: &str, line: u32, depth: u32) -> Step {
        let text = match (self.read_file)(path) {
            Some(text) => text,
            None if path.ends_with("defaults.sh") => DEFAULTS.to_owned(),
            None => {
                self.note(line, format!("{path} is no file in the script's folder, and is left out"));
                return Ok(());
            }
        };
        self.included += 1;
        if depth >= DEEPEST || self.included > MOST_INCLUDED {
            return Err(self.failure_at(line, format!("{path} names itself, or too many others")));
        }
        self.shell_at(&text, line, depth + 1)
    }

    /// Queries the counters; fails if the command does.
    fn look(&mut self, query: &Query, line: u32) -> Step {
        let names = query.names();
        let now = self.kernel.counters(&names).map_err(|error| self.failure_at(line, error.to_string()))?;
        let (_, succeeds) = query.look(&now, &mut self.counted);
        if succeeds {
            return Ok(());
        }
        let named = |name: &&String| names.is_empty() || names.contains(name);
        let values: Vec<_> = now
            .iter()
            .filter(|(name, value)| **value > 0 && named(name))
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        let values = if values.is_empty() { "nothing was counted".to_owned() } else { values.join(", ") };
        Err(self.failure_at(line, format!("no line is left of `{query}`; in all: {values}")))
    }

    fn set(&mut self, command: &Command, line: u32) -> Step {
        match self.kernel.command(command) {
            Ok(Understood::Yes) => Ok(()),
            Ok(Understood::No) => {
                self.note(line, format!("`{command}` means nothing to this kernel and is left out"));
                Ok(())
            }
            Err(error) => Err(self.failure_at(line, error.to_string())),
        }
    }

    fn sleep(&mut self, time: Duration, line: u32) -> Step {
        let until: Instant = self.kernel.now() + time;
        while self.kernel.now() < until {
            let happening =
                self.kernel.wait(until).map_err(|error| self.failure_at(line, error.to_string()))?;
            if let crate::kernel::Happening::Sent(at, packet) = happening {
                self.sent.push_back((at, packet));
            }
        }
        Ok(())
    }

    fn note(&mut self, line: u32, text: String) {
        self.notes.push(Note { line, text });
    }

    fn failure_at(&self, line: u32, what: String) -> Box<Failure> {
        Failure::new(&self.script.source, line, what)
    }
}
