//! weigle's table I on this machine's kernel: each technique transfers a file by FTP over the lab's path.
//!
//! Hosts without tuning have buffers of the paper's time: 64 KiB, and no autotuning. A technique that is a program runs on
//! such hosts, and so does its server: only what the program sets differs. A technique that is a kernel has other sysctls,
//! and a program that sets nothing.

use slowpath_copy::real::Stop;
use slowpath_files::Existing;
use slowpath_ftp::netrc::{Login, Secret};
use slowpath_ftp::place::Place;
use slowpath_ftp::real::served::Server;
use slowpath_ftp::real::{Wanted, transfer};
use slowpath_ftp::report::{Direction, Report};
use slowpath_ftp::{Basis, FtpError, PathValues, Tuning};
use slowpath_lab::error::LabError;
use slowpath_lab::host::Host;
use slowpath_lab::namespaces::{Namespaces, Place as At};
use slowpath_lab::relay::Relay;
use slowpath_lab::scratch::Scratch;
use slowpath_lab::settings::{Family, Offload, Settings};
use slowpath_lab::{signals, testbed};
use slowpath_model::{Bytes, Rate};
use slowpath_papers::tunings::{Path, Technique};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The buffers of a kernel without autotuning, as in the simulation (`SK_RMEM_MAX` of 2.2).
const UNTUNED: u64 = 64 << 10;
/// An untuned transfer is as fast at its beginning as at its end. It moves no more than it can in this time.
const LONG_ENOUGH: Duration = Duration::from_secs(10);
/// The FTP server's port.
const PORT: u16 = 2121;

/// Why the table was not measured.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The lab failed.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// A transfer failed.
    #[error("{technique}: {source}")]
    Transfer {
        /// The technique.
        technique: &'static str,
        /// Why.
        source: FtpError,
    },
    /// The server cannot listen.
    #[error("the lab's FTP server cannot listen: {0}")]
    Server(std::io::Error),
    /// A stop was requested.
    #[error("stopped")]
    Stopped,
}

/// One transfer of a technique.
#[derive(Clone, Debug)]
pub struct Run {
    /// The amount over the time from the command to the last byte: login and what the technique measured included.
    pub rate: Rate,
    /// The transfer.
    pub report: Report,
}

/// The techniques that this kernel can run, and the runs of each. `None` for one that it cannot: Linux 2.4's autotuning and
/// LANL's patch are gone.
pub type Measured = Vec<(Technique, Option<Vec<Run>>)>;

/// Whether this kernel can run a technique.
pub const fn is_here(technique: Technique) -> bool {
    !matches!(technique, Technique::Linux24 | Technique::Drs)
}

/// How many transfers [`measure`] makes of all techniques.
pub fn count(runs: u32) -> usize {
    Technique::ALL.into_iter().filter(|technique| is_here(*technique)).count() * runs as usize
}

/// Runs each of these techniques `runs` times, in turn, so that what else the machine does meets all of them. `done` is called after each
/// run. This process must have the lab's privilege.
///
/// # Errors
/// If the lab cannot run here, a transfer fails, or a stop is requested.
pub fn measure(
    techniques: &[Technique],
    path: &Path,
    runs: u32,
    stop: &AtomicBool,
    done: &dyn Fn(),
) -> Result<Measured, TableError> {
    signals::clean_up_when_ended()?;
    let mut measured: Measured =
        techniques.iter().map(|technique| (*technique, is_here(*technique).then(Vec::new))).collect();
    for run in 0..runs {
        for (technique, runs) in &mut measured {
            let Some(runs) = runs else { continue };
            if stop.load(Ordering::Relaxed) {
                return Err(TableError::Stopped);
            }
            runs.push(transfer_by(*technique, path, u64::from(run), stop)?);
            done();
        }
    }
    Ok(measured)
}

/// The median rate of some runs.
pub fn median(runs: &[Run]) -> Option<Rate> {
    let mut rates: Vec<u64> = runs.iter().map(|run| run.rate.get()).collect();
    rates.sort_unstable();
    let half = rates.len() / 2;
    let median = match rates.len() {
        0 => return None,
        odd if odd % 2 == 1 => rates[half],
        _ => rates[half - 1].midpoint(rates[half]),
    };
    Some(Rate::bits_per_second(median))
}

/// Sysctls of the sender's host and of the receiver's.
fn sysctls(technique: Technique, path: &Path) -> [Vec<(String, String)>; 2] {
    let largest = (8 * path.bdp().get()).clamp(4 << 20, 1 << 30);
    let memory = |first: u64, most: u64| format!("4096 {first} {most}");
    let (send, receive) = match technique {
        // The lab's pinned values: those of Linux 6.18.
        Technique::Today => return [Vec::new(), Vec::new()],
        Technique::Psc => (memory(16 << 10, largest), memory(largest, largest)),
        _ => (memory(UNTUNED, UNTUNED), memory(UNTUNED, UNTUNED)),
    };
    let of = |moderate: &str| {
        [("tcp_wmem", send.as_str()), ("tcp_rmem", receive.as_str()), ("tcp_moderate_rcvbuf", moderate)]
            .map(|(name, value)| (format!("net.ipv4.{name}"), value.to_owned()))
            .to_vec()
    };
    [of("0"), of("0")]
}

fn tuning(technique: Technique, path: &Path) -> Tuning {
    match technique {
        Technique::Manual => Tuning::Fixed(2 * path.bdp().get()),
        Technique::Enable => Tuning::Known,
        Technique::AutoNcFtp => Tuning::Auto,
        Technique::DrsFtp => Tuning::Drs,
        _ => Tuning::Kernel,
    }
}

fn amount(technique: Technique, path: &Path) -> u64 {
    if technique != Technique::None {
        return path.amount.get();
    }
    let rtt = path.delay.as_nanos().max(1);
    let rtts = (LONG_ENOUGH.as_nanos() / rtt).max(1);
    let windows = u128::from(UNTUNED).saturating_mul(rtts);
    path.amount.get().min(u64::try_from(windows).unwrap_or(u64::MAX))
}

fn transfer_by(technique: Technique, path: &Path, seed: u64, stop: &AtomicBool) -> Result<Run, TableError> {
    let mut settings = Settings::plain();
    settings.offload = Offload::SuperPackets;
    [settings.sender_sysctls, settings.receiver_sysctls] = sysctls(technique, path);
    // Whatever this machine's default is. By the route, as a namespace may not take any for its default.
    settings.sender_route = Some("congctl cubic".to_owned());
    let (namespaces, _) = testbed::build(&settings)?;
    let way = testbed::direction(path.rate, path.delay);
    let ways = testbed::ways(&settings, [&way, &way], [seed * 2 + 1, seed * 2 + 2]);
    let relay = Relay::open(&namespaces, ways)?;
    let amount = amount(technique, path);
    let stops = || stop.load(Ordering::Relaxed);
    let report = relay.during(|| fetch(technique, path, amount, &namespaces, &stops))?;
    let rate = Rate::of(Bytes::new(amount), report.began + report.moving).unwrap_or(Rate::bits_per_second(0));
    Ok(Run { rate, report })
}

/// The server at the sender, the client at the receiver.
fn fetch(
    technique: Technique,
    path: &Path,
    amount: u64,
    namespaces: &Namespaces,
    stop: Stop<'_>,
) -> Result<Report, TableError> {
    let scratch = Scratch::create()?;
    let at = SocketAddr::new(testbed::address(Family::V4, Host::Sender), PORT);
    let server =
        namespaces.inside(At::Sender, || Ok(Server::bind(at, amount)))?.map_err(TableError::Server)?;
    let known = PathValues { rtt: path.delay, rate: path.rate, basis: Basis::Store };
    let wanted = Wanted {
        direction: Direction::Get,
        place: Place {
            user: None,
            password: None,
            host: at.ip().to_string(),
            port: PORT,
            path: "file".into(),
        },
        file: scratch.file("file"),
        existing: Existing::Keep,
        login: Login { user: "anonymous".into(), password: Secret::default() },
        tuning: tuning(technique, path),
        store: &|_, _| Ok(known),
        active: false,
    };
    let has_ended = AtomicBool::new(false);
    let ends = || has_ended.load(Ordering::Relaxed) || stop();
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| {
            namespaces.inside(At::Sender, || {
                server.run(&ends);
                Ok(())
            })
        });
        let report = namespaces.inside(At::Receiver, || Ok(transfer(&wanted, stop, &mut |_| ())));
        has_ended.store(true, Ordering::Relaxed);
        serving.join().unwrap_or(Err(LabError::Panicked { role: "serves files" }))?;
        report?.map_err(|source| match source {
            FtpError::Stopped => TableError::Stopped,
            source => TableError::Transfer { technique: technique.name(), source },
        })
    })
}
