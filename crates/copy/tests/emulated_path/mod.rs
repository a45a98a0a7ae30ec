//! The path, and the programs that are compared on it.
//!
//! The hosts have Linux's defaults, except for iperf3: its buffers are set by hand, by sysctls of its host that allow twice
//! the bandwidth-delay product and more. All move one amount, but for scp and rsync, which move a quarter
//! of it; the time of each is that of its whole command. Files come from
//! and go to a tmpfs where the temporary folder is one, and fsync is part of a copy.

use slowpath_copy::hints::Hints;
use slowpath_copy::place::Place;
use slowpath_copy::protocol::Tuning;
use slowpath_copy::real::far::Server;
use slowpath_copy::real::near::{Wanted, copy};
use slowpath_lab::error::LabError;
use slowpath_lab::host::Host;
use slowpath_lab::iperf3;
use slowpath_lab::namespaces::{Namespaces, Place as At};
use slowpath_lab::path::PathConfig;
use slowpath_lab::path::loss::LossConfig;
use slowpath_lab::relay::Relay;
use slowpath_lab::scratch::Scratch;
use slowpath_lab::settings::{Offload, Settings};
use slowpath_lab::ssh::{Client, Copy as SshCopy, Server as SshServer, Setup};
use slowpath_lab::testbed;
use slowpath_model::{Bytes, Rate};
use std::fmt;
use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const TOKEN: &[u8] = b"0123456789abcdef0123456789abcdef";

/// What moves the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// `slowpath copy` with its defaults.
    Copy,
    /// With `--tuning drs`.
    CopyDrs,
    /// With the RTT and the rate of the path from a path store, and the limits of this host.
    CopyHints,
    /// With as many connections as these say, and no more.
    CopyHintsFixed,
    /// With one connection.
    CopyOne,
    /// One connection, buffers set by hand.
    Iperf3,
    /// Eight of them.
    Iperf3Many,
    Scp,
    Rsync,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Copy => "copy",
            Self::CopyDrs => "copy, DRS",
            Self::CopyHints => "copy, path known",
            Self::CopyHintsFixed => "copy, path known, fixed",
            Self::CopyOne => "copy, 1 stream",
            Self::Iperf3 => "iperf3",
            Self::Iperf3Many => "iperf3 -P 8",
            Self::Scp => "scp",
            Self::Rsync => "rsync",
        })
    }
}

/// A path, and how much is moved over it.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    pub rate_mbit: u64,
    /// Both directions together, without queues.
    pub rtt: Duration,
    /// Random loss towards the receiver, in millionths.
    pub loss_ppm: u32,
    pub amount: u64,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.rtt.as_millis())?;
        if self.loss_ppm > 0 {
            write!(f, ", {} % loss", f64::from(self.loss_ppm) / 10_000.0)?;
        }
        Ok(())
    }
}

impl Cell {
    fn ways(&self) -> [PathConfig; 2] {
        let back = testbed::direction(Rate::mbit(self.rate_mbit), self.rtt);
        let loss = (self.loss_ppm > 0).then_some(LossConfig::Random { probability_ppm: self.loss_ppm });
        [PathConfig { loss: loss.into_iter().collect(), ..back.clone() }, back]
    }

    fn settings(&self, program: Program) -> Settings {
        let mut settings = Settings::plain();
        settings.offload = Offload::SuperPackets;
        if matches!(program, Program::Iperf3 | Program::Iperf3Many) {
            let most = 64 << 20;
            let by_hand = |name: &str| vec![(name.to_owned(), format!("4096 {} {most}", 1 << 20))];
            settings.sender_sysctls = by_hand("net.ipv4.tcp_wmem");
            settings.receiver_sysctls = by_hand("net.ipv4.tcp_rmem");
        }
        settings
    }

    /// Mbit/s of each run of each program. The programs take turns, so that what else the machine does meets all of them.
    pub fn rates(&self, programs: &[Program], runs: usize) -> Result<Vec<Vec<f64>>, LabError> {
        let mut rates = vec![Vec::new(); programs.len()];
        for run in 0..runs {
            for (program, rates) in programs.iter().zip(&mut rates) {
                let amount = match program {
                    // Their rate is the same from beginning to end, and low.
                    Program::Scp | Program::Rsync => self.amount / 4,
                    _ => self.amount,
                };
                let lasted = Self { amount, ..*self }.run(*program, run as u64)?;
                rates.push(amount as f64 * 8.0 / 1e6 / lasted.as_secs_f64());
            }
        }
        Ok(rates)
    }

    /// How long one run takes.
    fn run(&self, program: Program, seed: u64) -> Result<Duration, LabError> {
        let settings = self.settings(program);
        let (namespaces, _) = testbed::build(&settings)?;
        let [there, back] = self.ways();
        let relay = Relay::open(
            &namespaces,
            testbed::ways(&settings, [&there, &back], [seed * 2 + 1, seed * 2 + 2]),
        )?;
        let scratch = Scratch::create()?;
        relay.during(|| match program {
            Program::Copy
            | Program::CopyDrs
            | Program::CopyHints
            | Program::CopyHintsFixed
            | Program::CopyOne => self.copy(program, &namespaces, &scratch),
            Program::Iperf3 => iperf3::send(&namespaces, Host::Sender, self.amount, &[]),
            Program::Iperf3Many => iperf3::send(&namespaces, Host::Sender, self.amount, &["-P", "8"]),
            Program::Scp => self.ssh(Client::Scp, &namespaces, &scratch),
            Program::Rsync => self.ssh(Client::Rsync, &namespaces, &scratch),
        })
    }

    fn copy(
        &self,
        program: Program,
        namespaces: &Namespaces,
        scratch: &Scratch,
    ) -> Result<Duration, LabError> {
        let (source, folder) = (scratch.file("source"), scratch.file("there"));
        fill(&source, self.amount);
        fs::create_dir(&folder).expect("a folder");
        let to = SocketAddr::new(testbed::address(slowpath_lab::settings::Family::V4, Host::Receiver), 5718);
        let server =
            namespaces.inside(At::Receiver, || Ok(Server::bind(to, &folder, TOKEN)))?.expect("it listens");
        let stop = AtomicBool::new(false);
        let stops = || stop.load(Ordering::Relaxed);
        let wanted = Wanted {
            source: Place::Here(source),
            destination: Place::Served { host: to.ip().to_string(), port: to.port(), path: "copy".into() },
            force: false,
            tuning: if program == Program::CopyDrs { Tuning::Drs } else { Tuning::Kernel },
            congestion: String::new(),
            streams: match program {
                Program::CopyOne => Some(1),
                Program::CopyHintsFixed => self.hints().streams(),
                _ => None,
            },
            port: 0,
            ssh: String::new(),
            far_program: String::new(),
            token: TOKEN.to_vec(),
            hints: if program == Program::CopyHints { self.hints() } else { Hints::default() },
        };
        std::thread::scope(|scope| {
            let serving = scope.spawn(|| {
                namespaces.inside(At::Receiver, || {
                    server.run(&stops, &|_, why| assert!(why.is_none(), "{why:?}"));
                    Ok(())
                })
            });
            let report = namespaces.inside(At::Sender, || Ok(copy(&wanted, &|| false, &mut |_| (), &|_| ())));
            stop.store(true, Ordering::Relaxed);
            serving.join().expect("it ends")?;
            let report = report?.expect("it is copied");
            if std::env::var_os("SLOWPATH_COPIES_VERBOSE").is_some() {
                println!("{program}: {report:?}");
            }
            let copied = fs::metadata(folder.join("copy")).expect("the copy").len();
            assert_eq!(copied, self.amount);
            Ok(report.lasted)
        })
    }

    /// What a path store and this host's limit (`tcp_wmem`, 4 MiB) say: of 4 MiB, 2.54 MiB can be in flight.
    fn hints(&self) -> Hints {
        let window = Bytes::new(2_663_000);
        Hints { rtt: Some(self.rtt), rate: Some(Rate::mbit(self.rate_mbit)), window: Some(window) }
    }

    fn ssh(&self, client: Client, namespaces: &Namespaces, scratch: &Scratch) -> Result<Duration, LabError> {
        let setup = Setup::create(scratch)?;
        let amount = Bytes::new(self.amount);
        let programs = setup.programs(SshCopy { client, server: SshServer::OpenSsh, amount })?;
        let address = |host| testbed::address(slowpath_lab::settings::Family::V4, host).to_string();
        let line = |text: &str| {
            text.replace("{server}", &address(Host::Receiver)).replace("{client}", &address(Host::Sender))
        };
        let mut server = namespaces.command(At::Receiver, "sh");
        let mut server =
            server.args(["-c", &line(&programs.server)]).stderr(Stdio::null()).spawn().expect("sh");
        std::thread::sleep(Duration::from_millis(500));
        let began = Instant::now();
        let copied = namespaces.output(At::Sender, &["sh", "-c", &line(&programs.client)]);
        let lasted = began.elapsed();
        let _ = server.kill();
        let _ = server.wait();
        copied?;
        assert_eq!(setup.copied(), Some(amount));
        Ok(lasted)
    }
}

fn fill(path: &std::path::Path, amount: u64) {
    let mut file = fs::File::create(path).expect("a file");
    let piece: Vec<u8> = (0..1 << 20).map(|at| (at % 251) as u8).collect();
    let mut left = amount;
    while left > 0 {
        let length = left.min(piece.len() as u64) as usize;
        file.write_all(&piece[..length]).expect("room");
        left -= length as u64;
    }
}
