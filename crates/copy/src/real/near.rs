//! The near end: what the user runs.

use super::control::{Control, LOOK, is_ready};
use super::crypt::{Agreement, Side, random};
use super::link::Link;
use super::sockets::now;
use super::source::Source;
use super::stream::{HANDSHAKE, Options, Session, Stream, connected, read_exact, write_all};
use super::tree::Base;
use super::{Progress, Stop, receiver, sender};
use crate::account::Shares;
use crate::error::CopyError;
use crate::growth::{FIRST, Growth, MOST};
use crate::hints::Hints;
use crate::place::Place;
use crate::protocol::{
    Arrived, Direction, MAGIC, MOST_STREAMS, Message, NotAMessage, Request, Sent, Tuning, VERSION,
};
use crate::report::{Report, Spent};
use rustix::event::PollFlags;
use slowpath_model::{Bytes, Rate};
use std::io::Read;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// What to copy, and how.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// From here.
    pub source: Place,
    /// To here.
    pub destination: Place,
    /// Whether an existing file is replaced.
    pub force: bool,
    /// Who sizes the buffers.
    pub tuning: Tuning,
    /// The congestion control of the data connections; empty for each host's own.
    pub congestion: String,
    /// The number of data connections; `None` to begin with a few and to add more while that helps.
    pub streams: Option<u16>,
    /// The port of the far end's data connections; 0 for any.
    pub port: u16,
    /// The command that reaches the far end's host, its words separated by spaces.
    pub ssh: String,
    /// slowpath on that host.
    pub far_program: String,
    /// The token of a far end that serves.
    pub token: Vec<u8>,
    /// What is known of the path.
    pub hints: Hints,
}

/// Copies.
///
/// `say` gets lines that the command which reaches the far end writes to its standard error.
///
/// # Errors
/// If nothing was copied. Whatever arrived is kept without the final name, and the next call continues there.
pub fn copy(
    wanted: &Wanted,
    stop: Stop<'_>,
    progress: &mut dyn FnMut(Progress),
    say: &(dyn Fn(&str) + Sync),
) -> Result<Report, CopyError> {
    let began = Instant::now();
    let (direction, here, there) = match (&wanted.source, &wanted.destination) {
        (Place::Here(here), there @ (Place::Ssh { .. } | Place::Served { .. })) => {
            (Direction::Put, here, there)
        }
        (there @ (Place::Ssh { .. } | Place::Served { .. }), Place::Here(here)) => {
            (Direction::Get, here, there)
        }
        _ => return Err(CopyError::Ends),
    };
    let mut near = Near { wanted, direction, here, began, stop, progress };
    match there {
        Place::Here(_) => Err(CopyError::Ends),
        Place::Ssh { host, path } => near.over_ssh(host, path.as_bytes(), say),
        Place::Served { host, port, path } => near.served(host, *port, path.as_bytes()),
    }
}

struct Near<'a, 'p> {
    wanted: &'a Wanted,
    direction: Direction,
    here: &'a Path,
    began: Instant,
    stop: Stop<'a>,
    progress: &'p mut dyn FnMut(Progress),
}

impl<'a> Near<'a, '_> {
    fn served(&mut self, host: &str, port: u16, path: &[u8]) -> Result<Report, CopyError> {
        let source = self.source()?;
        let no_address = |source| CopyError::NoAddress { host: host.to_owned(), source };
        let addresses: Vec<SocketAddr> = (host, port).to_socket_addrs().map_err(no_address)?.collect();
        let options = Options { tuning: Tuning::Kernel, congestion: String::new() };
        let mut last = None;
        for to in addresses {
            match connected(to, &options, self.stop) {
                Ok(tcp) => {
                    let mut control = self.agree(tcp)?;
                    let peers = vec![to.ip()];
                    let result = self.session(&mut control, source, path, &peers);
                    if let Err(why) = &result {
                        control.last_word(why);
                    }
                    return result;
                }
                Err(CopyError::System { source, .. }) => last = Some(CopyError::NoServer { to, source }),
                Err(error) => return Err(error),
            }
        }
        Err(last.unwrap_or_else(|| no_address(std::io::Error::other("no address"))))
    }

    /// The source, if it is here: one that does not exist is reported before anybody is called.
    fn source(&self) -> Result<Option<Source>, CopyError> {
        match self.direction {
            Direction::Put => Source::list(&Base::Here, self.here).map(Some),
            Direction::Get => Ok(None),
        }
    }

    /// The key agreement with a far end that serves.
    fn agree(&self, tcp: std::net::TcpStream) -> Result<Control<'a>, CopyError> {
        let until = Instant::now() + HANDSHAKE;
        // Messages are short and the other end waits for them.
        tcp.set_nodelay(true).map_err(CopyError::system("set TCP_NODELAY"))?;
        tcp.set_read_timeout(Some(LOOK)).map_err(CopyError::system("set a time-out"))?;
        tcp.set_write_timeout(Some(LOOK)).map_err(CopyError::system("set a time-out"))?;
        let own = Agreement::new()?;
        let hello = [&MAGIC[..], &VERSION.to_be_bytes(), &own.public()].concat();
        write_all(&tcp, &hello, until, self.stop)?;
        let mut answer = [0; 42];
        read_exact(&tcp, &mut answer, until, self.stop)?;
        if answer[..8] != MAGIC {
            let said = String::from_utf8_lossy(&answer[..8]).into_owned();
            return Err(NotAMessage::NotACopy(said).into());
        }
        let version = u16::from_be_bytes([answer[8], answer[9]]);
        if version != VERSION {
            return Err(NotAMessage::Version(version).into());
        }
        let public: [u8; 32] = answer[10..].try_into().map_err(|_| CopyError::Forged)?;
        let keys = own.with(public, &self.wanted.token, Side::Near)?;
        let output = tcp.try_clone().map_err(CopyError::system("duplicate a socket"))?;
        Ok(Control::encrypted(tcp.into(), output.into(), keys, self.stop))
    }

    fn over_ssh(
        &mut self,
        host: &str,
        path: &[u8],
        say: &(dyn Fn(&str) + Sync),
    ) -> Result<Report, CopyError> {
        let source = self.source()?;
        let mut words = self.wanted.ssh.split_whitespace();
        let program = words.next().unwrap_or("ssh");
        let mut command = Command::new(program);
        // The path is not among the words: it would pass through a shell there.
        command.args(words).args(["--", host, &self.wanted.far_program, "copy", "--far-end"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let failed = |source| CopyError::Ssh { command: program.to_owned(), source };
        let mut child = Reaped(command.spawn().map_err(failed)?);
        let (input, output) = (child.0.stdout.take(), child.0.stdin.take());
        let (Some(input), Some(output)) = (input, output) else { return Err(CopyError::Closed) };
        let errors = child.0.stderr.take();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            if let Some(errors) = errors {
                let is_over = &is_over;
                scope.spawn(move || pass_on(errors, is_over, say));
            }
            let mut control = Control::plain(input.into(), output.into(), self.stop);
            let mut result = self.session(&mut control, source, path, &addresses_of(host));
            if let Err(why) = &result {
                control.last_word(why);
            }
            let has_heard = control.has_heard();
            // The far end sees that its standard input ends.
            drop(control);
            let status = child.end();
            is_over.store(true, Ordering::Release);
            if let (Err(CopyError::Closed), false, Some(status)) = (&result, has_heard, status) {
                result = Err(CopyError::SshEnded { command: program.to_owned(), status });
            }
            result
        })
    }

    fn session(
        &mut self,
        control: &mut Control<'_>,
        source: Option<Source>,
        path: &[u8],
        peers: &[IpAddr],
    ) -> Result<Report, CopyError> {
        let session = Session { id: random()?, key: random()? };
        let request = Request {
            direction: self.direction,
            path: path.to_vec(),
            name: source.as_ref().map(|source| source.name.clone()).unwrap_or_default(),
            force: self.wanted.force,
            tuning: self.wanted.tuning,
            congestion: self.wanted.congestion.clone(),
            port: self.wanted.port,
            session: session.id,
            key: session.key,
        };
        // In one go: it saves an RTT.
        control.say(&Message::Hello).map_err(no_token)?;
        control.say(&Message::Request(request.clone())).map_err(no_token)?;
        let Message::Welcome = control.wait().map_err(no_token)? else { return Err(CopyError::OutOfTurn) };
        let (port, address) = loop {
            match control.wait()? {
                Message::Ready { port, address } => break (port, address),
                // It lists its files.
                Message::Arrived(_) => {}
                _ => return Err(CopyError::OutOfTurn),
            }
        };
        // Where ssh reached it first: a name may be an alias of ssh's configuration.
        let mut to: Vec<SocketAddr> =
            address.iter().chain(peers).map(|ip| SocketAddr::new(*ip, port)).collect();
        to.dedup();
        // What is known of the path is where it begins; the copy still finds out whether more help.
        let known = || self.wanted.hints.streams().map_or(FIRST, |streams| streams.min(MOST));
        let first = self.wanted.streams.unwrap_or_else(known).clamp(1, MOST_STREAMS);
        let most = if self.wanted.streams.is_some() { first } else { MOST };
        // Only the end that sends has a congestion window.
        let congestion = match self.direction {
            Direction::Put => self.wanted.congestion.clone(),
            Direction::Get => String::new(),
        };
        let opening = Opening {
            to,
            session,
            options: Options { tuning: self.wanted.tuning, congestion },
            next: AtomicU16::new(0),
            between: OnceLock::new(),
            is_over: AtomicBool::new(false),
            stop: self.stop,
        };
        let (more, wants) = channel();
        let (opened, streams) = channel();
        let _ = more.send(first);
        std::thread::scope(|scope| {
            let opening = &opening;
            scope.spawn(move || opening.run(scope, &wants, &opened));
            let growth = Growth::new(first, most, now());
            let progress = &mut *self.progress;
            let mut moved_since = None;
            let mut watch = |progress_now: Progress| {
                if progress_now.phase == super::Phase::Moves {
                    moved_since.get_or_insert_with(Instant::now);
                }
                progress(progress_now);
            };
            let mut link = Link {
                control,
                streams,
                stop: self.stop,
                more: Some((growth, more)),
                progress: Some(&mut watch),
            };
            let result = copied(&mut link, source, self.here, path, &request);
            drop(link);
            opening.is_over.store(true, Ordering::Release);
            let copied = result?;
            let between = opening.between.get().copied();
            Ok(report(self.wanted, self.direction, copied, between, (self.began, moved_since)))
        })
    }
}

/// A far end that closes the connection before it has said anything does not have the token.
fn no_token(error: CopyError) -> CopyError {
    match error {
        CopyError::Forged => CopyError::Token,
        other => other,
    }
}

/// The result of either direction.
struct Copied {
    sent: Sent,
    arrived: Arrived,
    files: u64,
    total: u64,
    changed: Vec<Vec<u8>>,
    skipped: Vec<(Vec<u8>, String)>,
}

fn copied(
    link: &mut Link<'_, '_, '_>,
    source: Option<Source>,
    here: &Path,
    there: &[u8],
    request: &Request,
) -> Result<Copied, CopyError> {
    if let Some(source) = source {
        let sender::Outcome { sent, arrived, files, changed, skipped } =
            sender::run(link, &source, request.tuning)?;
        return Ok(Copied { sent, arrived, files, total: source.bytes(), changed, skipped });
    }
    // The name is what the user wrote, not what the far end says.
    let there = receiver::path(there);
    let name = there.file_name().map(|name| name.as_bytes().to_vec()).unwrap_or_default();
    let outcome = receiver::run(link, &Base::Here, here, &name, request)?;
    let receiver::Outcome { sent, arrived, files, total, changed, skipped } = outcome;
    Ok(Copied { sent, arrived, files, total, changed, skipped })
}

fn report(
    wanted: &Wanted,
    direction: Direction,
    copied: Copied,
    between: Option<[IpAddr; 2]>,
    (began, moved_since): (Instant, Option<Instant>),
) -> Report {
    let Copied { sent, arrived, files, total, changed, skipped } = copied;
    let (lasted, synced) = (began.elapsed(), Duration::from_nanos(arrived.sync_ns));
    let begins = moved_since.map_or(lasted.saturating_sub(synced), |at| at - began);
    let moving = lasted.saturating_sub(synced).saturating_sub(begins);
    let mut bound = Shares(sent.bound_ns).permille();
    bound.retain(|(_, share)| *share > 0);
    bound.sort_by_key(|(_, share)| std::cmp::Reverse(*share));
    let shown = |path: Vec<u8>| -> PathBuf { sender::shown(&path) };
    let ns = Duration::from_nanos;
    Report {
        source: wanted.source.to_string(),
        destination: wanted.destination.to_string(),
        direction,
        between,
        files,
        amount: Bytes::new(total),
        moved: Bytes::new(arrived.bytes),
        kept: Bytes::new(arrived.kept_bytes),
        lasted,
        began: begins,
        moving,
        synced,
        rate: Rate::of(Bytes::new(arrived.bytes), moving).filter(|_| arrived.bytes > 0),
        streams: sent.streams as u16,
        send_buffer: Bytes::new(sent.buffer_bytes),
        receive_buffer: Bytes::new(arrived.buffer_bytes),
        min_rtt: (sent.min_rtt_us > 0).then(|| Duration::from_micros(sent.min_rtt_us)),
        retransmitted: sent.retransmitted,
        bound,
        source_spent: Spent { disk: ns(sent.read_ns), cpu: ns(sent.cpu_ns), socket: ns(sent.socket_ns) },
        destination_spent: Spent {
            disk: ns(arrived.write_ns),
            cpu: ns(arrived.cpu_ns),
            socket: ns(arrived.socket_ns),
        },
        changed: changed.into_iter().map(shown).collect(),
        skipped: skipped.into_iter().map(|(path, why)| (shown(path), why)).collect(),
    }
}

/// Opens data connections, each in a thread of its own: one takes two RTTs.
struct Opening<'a> {
    to: Vec<SocketAddr>,
    session: Session,
    options: Options,
    next: AtomicU16,
    /// The addresses of this host and of the other one on the first.
    between: OnceLock<[IpAddr; 2]>,
    is_over: AtomicBool,
    stop: Stop<'a>,
}

type Opened = Sender<Result<Stream, CopyError>>;

impl Opening<'_> {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire) || (self.stop)()
    }

    fn run<'s, 'e>(&'e self, scope: &'s std::thread::Scope<'s, 'e>, wants: &Receiver<u16>, opened: &Opened)
    where
        'e: 's,
    {
        let over = move || self.is_over();
        let Some((first, to)) = self.first(&over, opened) else { return };
        let _ = opened.send(Ok(first));
        let mut count = 0;
        loop {
            match wants.recv_timeout(LOOK) {
                Ok(more) => count += more,
                Err(RecvTimeoutError::Timeout) if !self.is_over() => {}
                Err(_) => return,
            }
            while self.next.load(Ordering::Relaxed) < count {
                let number = self.next.fetch_add(1, Ordering::Relaxed);
                let opened = opened.clone();
                scope.spawn(move || {
                    let stream =
                        Stream::open(to, number, &self.session, &self.options, &move || self.is_over());
                    let _ = opened.send(stream);
                });
            }
        }
    }

    /// The first connection shows at which address the far end is.
    fn first(&self, over: Stop<'_>, opened: &Opened) -> Option<(Stream, SocketAddr)> {
        let mut last = None;
        for to in &self.to {
            let proven = |mut stream: Stream| {
                // Another host may have that address here.
                if self.to.len() > 1 { stream.prove(over).map(|()| stream) } else { Ok(stream) }
            };
            match Stream::open(*to, 0, &self.session, &self.options, over).and_then(proven) {
                Ok(stream) => {
                    self.next.store(1, Ordering::Relaxed);
                    if let Ok(here) = stream.tcp.local_addr() {
                        let _ = self.between.set([here.ip(), to.ip()]);
                    }
                    return Some((stream, *to));
                }
                Err(error) => last = Some(error),
            }
        }
        let none = || CopyError::NoData {
            to: "the far end".to_owned(),
            source: std::io::Error::other("no address"),
        };
        let _ = opened.send(Err(last.unwrap_or_else(none)));
        None
    }
}

/// The addresses of a host as ssh takes it; none if it is a name of ssh's own.
fn addresses_of(host: &str) -> Vec<IpAddr> {
    let name = host.rsplit_once('@').map_or(host, |(_, name)| name);
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    (name, 0).to_socket_addrs().into_iter().flatten().map(|address| address.ip()).collect()
}

/// Lines of ssh's standard error, and the longest of them.
const MOST_LINES: usize = 100;
const MOST_LINE: usize = 1000;

/// Passes lines on: what a far host writes must not reach a terminal as it is. A process that ssh leaves in the background
/// (`ControlPersist`) may keep the descriptor open, so that its end is not waited for.
fn pass_on(mut errors: ChildStderr, is_over: &AtomicBool, say: &(dyn Fn(&str) + Sync)) {
    let (mut count, mut line) = (0, Vec::new());
    let mut tell = |line: &mut Vec<u8>| {
        // The rest is read, so that ssh is not held up.
        if count < MOST_LINES {
            say(String::from_utf8_lossy(line).trim_end());
        }
        count += 1;
        line.clear();
    };
    loop {
        // Before the look: what was written by then is read.
        let was_over = is_over.load(Ordering::Acquire);
        let mut piece = [0; 4096];
        let read = match is_ready(&errors, PollFlags::IN, LOOK) {
            Ok(true) => errors.read(&mut piece).unwrap_or(0),
            Ok(false) if !was_over => continue,
            _ => 0,
        };
        for byte in &piece[..read] {
            match byte {
                b'\n' => tell(&mut line),
                byte if line.len() < MOST_LINE => line.push(*byte),
                _ => {}
            }
        }
        if read == 0 {
            if !line.is_empty() {
                tell(&mut line);
            }
            return;
        }
    }
}

/// A child process that is not left behind.
struct Reaped(Child);

/// How long ssh has to end by itself.
const ENDS: Duration = Duration::from_secs(3);

impl Reaped {
    /// Waits for its end; how it ended, unless it had to be killed.
    fn end(&mut self) -> Option<String> {
        let until = Instant::now() + ENDS;
        while Instant::now() < until {
            match self.0.try_wait() {
                Ok(Some(status)) => return Some(status.to_string()),
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
                Err(_) => return None,
            }
        }
        self.kill();
        None
    }

    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Reaped {
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            self.kill();
        }
    }
}
