//! The client on a real host: files and sockets.
//!
//! - `session`: the control connection and its deadlines. `data`: data connections. `moved`: what moves on one.
//! - `partial`: the local file until it is whole. `probing`: the measurement of Auto-ncFTP.
//! - `get`, `put`: the two directions; `sizing`: what Dynamic Right-Sizing tells the server meanwhile.
//! - [`served`]: a server that lets its buffers be set, for the lab.

mod data;
mod get;
mod moved;
mod partial;
mod probing;
mod put;
pub mod served;
mod session;
mod sizing;

use crate::error::FtpError;
use crate::netrc::Login;
use crate::offers::BufferCommand;
use crate::place::Place;
use crate::report::{Direction, Report, ServerBuffer};
use crate::tuning::{PathValues, Tuning};
use data::NextBuffer;
use session::{Ends, PATIENCE, Session, Watchdog};
use slowpath_copy::account::Bound;
use slowpath_copy::real::Stop;
use slowpath_files::Existing;
use slowpath_model::Bytes;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use suppaftp::types::FileType;
use suppaftp::{Mode, Status};

/// What a path store knows of the path from the first address to the second.
pub type AskStore<'a> = &'a (dyn Fn(IpAddr, IpAddr) -> Result<PathValues, String> + Sync);

/// What is to be transferred, and how.
pub struct Wanted<'a> {
    /// The direction.
    pub direction: Direction,
    /// The file at the server.
    pub place: Place,
    /// The file here.
    pub file: PathBuf,
    /// Whether a destination that exists is replaced.
    pub existing: Existing,
    /// Who logs in.
    pub login: Login,
    /// Who sizes the buffers.
    pub tuning: Tuning,
    /// For [`Tuning::Known`].
    pub store: AskStore<'a>,
    /// Whether the server opens the data connection.
    pub active: bool,
}

/// How far a transfer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The path is being measured.
    Measures,
    /// Data moves.
    Moves {
        /// Bytes that are at the destination.
        done: u64,
        /// All bytes; `None` if the server does not say.
        total: Option<u64>,
        /// Bytes per second of the last interval.
        rate: u64,
        /// What bound most of it.
        bound: Option<Bound>,
    },
    /// The disk writes the rest (fsync), or the server does.
    Ends,
}

/// Transfers a file.
///
/// # Errors
/// If it was not transferred; the destination does not exist then, or is as it was.
pub fn transfer(
    wanted: &Wanted<'_>,
    stop: Stop<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, FtpError> {
    let watchdog = Watchdog::default();
    std::thread::scope(|scope| {
        let _ends = Ends(&watchdog);
        scope.spawn(|| watchdog.watch(stop));
        let mut client = Client::connect(wanted, &watchdog, stop)?;
        let report = match wanted.direction {
            Direction::Get => get::get(&mut client, wanted, progress),
            Direction::Put => put::put(&mut client, wanted, progress),
        };
        if report.is_ok() {
            // The file is whole. Whether the server says goodbye does not matter.
            let _ = client.session.run("QUIT", Duration::from_secs(2), suppaftp::FtpStream::quit);
        }
        report
    })
}

/// A client that has logged in.
struct Client<'a> {
    session: Session<'a>,
    next: NextBuffer,
    command: Option<BufferCommand>,
    server_buffer: ServerBuffer,
    path: Option<PathValues>,
    active: bool,
    began: Instant,
    stop: Stop<'a>,
}

impl<'a> Client<'a> {
    fn connect(wanted: &Wanted<'_>, watchdog: &'a Watchdog, stop: Stop<'a>) -> Result<Self, FtpError> {
        let began = Instant::now();
        let mut session = Session::connect(&wanted.place, watchdog, stop)?;
        let Login { user, password } = &wanted.login;
        session.run("USER, PASS", PATIENCE, |ftp| ftp.login(user.as_str(), password.reveal()))?;
        session.run("TYPE I", PATIENCE, |ftp| ftp.transfer_type(FileType::Binary))?;
        let next = NextBuffer::default();
        let builder = data::builder(session.server().to_owned(), session.peer.ip(), next.clone());
        session.ftp = session.ftp.passive_stream_builder(builder);
        session.ftp.set_mode(Mode::ExtendedPassive);
        if wanted.active {
            session.ftp = session.ftp.active_mode(session::HANDSHAKE);
        }
        let mut client = Self {
            session,
            next,
            command: None,
            server_buffer: ServerBuffer::Unasked,
            path: None,
            active: wanted.active,
            began,
            stop,
        };
        if !matches!(wanted.tuning, Tuning::Kernel) {
            client.look_for_command(wanted.direction)?;
        }
        Ok(client)
    }

    /// Finds the command for the server's buffers.
    fn look_for_command(&mut self, direction: Direction) -> Result<(), FtpError> {
        let features = self.session.ask("FEAT", suppaftp::FtpStream::feat)?.unwrap_or_default();
        let help = self
            .session
            .ask("SITE HELP", |ftp| ftp.custom_command("SITE HELP", &[Status::Help, Status::CommandOk]))?;
        let help =
            help.map_or_else(|_| String::new(), |reply| String::from_utf8_lossy(&reply.body).into_owned());
        self.command = BufferCommand::offered(&features, &help, direction == Direction::Get);
        self.server_buffer = ServerBuffer::NotOffered;
        Ok(())
    }

    /// Sizes the next data connection: this host's buffers, and the server's if it has a command for it.
    fn size(&mut self, bytes: u64) -> Result<(), FtpError> {
        data::set_next(&self.next, Some(bytes));
        let Some(command) = self.command else { return Ok(()) };
        let line = command.with(bytes);
        let answer = self.session.ask(&line, |ftp| ftp.custom_command(&line, &[Status::CommandOk]))?;
        let name = command.name();
        self.server_buffer = match answer {
            Ok(_) => ServerBuffer::Set { command: name, bytes: Bytes::new(bytes) },
            Err(_) => ServerBuffer::Refused { command: name },
        };
        Ok(())
    }

    /// The RTT of the control connection, which is that of its handshake or less.
    fn rtt(&self) -> Duration {
        let info = slowpath_copy::real::sockets::tcp_info(&self.session.socket);
        Duration::from_micros(u64::from(info.min_rtt.min(info.rtt)))
    }

    /// Sizes the buffers before the transfer, for the techniques that do.
    fn prepare(
        &mut self,
        wanted: &Wanted<'_>,
        measure: impl FnOnce(&mut Self) -> Result<Option<PathValues>, FtpError>,
    ) -> Result<(), FtpError> {
        match wanted.tuning {
            Tuning::Kernel | Tuning::Drs => return Ok(()),
            Tuning::Fixed(bytes) => return self.size(bytes),
            Tuning::Auto => self.path = measure(self)?,
            Tuning::Known => {
                let (local, peer) =
                    (self.session.local.ip().to_canonical(), self.session.peer.ip().to_canonical());
                let (from, to) = match wanted.direction {
                    Direction::Get => (peer, local),
                    Direction::Put => (local, peer),
                };
                self.path = Some((wanted.store)(from, to).map_err(FtpError::NotKnown)?);
            }
        }
        match self.path {
            Some(path) => self.size(path.buffer()),
            None => {
                data::set_next(&self.next, None);
                Ok(())
            }
        }
    }

    /// Runs a command that opens a data connection. A server that does not know EPSV is asked for PASV.
    fn open<T>(
        &mut self,
        name: &str,
        mut work: impl FnMut(&mut suppaftp::FtpStream) -> suppaftp::FtpResult<T>,
    ) -> Result<T, FtpError> {
        let refused = match self.session.ask(name, &mut work)? {
            Ok(opened) => return Ok(opened),
            Err(reply) => reply,
        };
        let is_unknown = matches!(
            refused.status,
            Status::BadCommand | Status::BadArguments | Status::NotImplemented | Status::Unknown
        );
        if !is_unknown || self.active || self.session.peer.is_ipv6() {
            return Err(self.session.refused(name, &refused));
        }
        self.session.ftp.set_mode(Mode::Passive);
        self.session.run(name, PATIENCE, work)
    }
}

/// What was asked for before the transfer, for each of this host's buffers.
fn asked(client: &Client<'_>, wanted: &Wanted<'_>) -> Option<Bytes> {
    match wanted.tuning {
        Tuning::Fixed(bytes) => Some(Bytes::new(bytes)),
        Tuning::Auto | Tuning::Known => client.path.map(|path| Bytes::new(path.buffer())),
        Tuning::Kernel | Tuning::Drs => None,
    }
}
