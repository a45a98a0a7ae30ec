//! From the server to a local file.

use super::data::{attend, give, set_next, size_of};
use super::moved::{Watch, is_passing};
use super::partial::Partial;
use super::probing;
use super::session::{PATIENCE, Stream};
use super::sizing::{Sizing, Told};
use super::{Client, Progress, Wanted};
use crate::error::FtpError;
use crate::report::{Direction, Report, Sized};
use crate::tuning::Tuning;
use slowpath_copy::real::sockets::tcp_info;
use slowpath_model::{Bytes, Rate};
use std::io::Read;
use std::net::TcpStream;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use suppaftp::Status;
use suppaftp::types::Response;

/// What one read may return.
const PIECE: usize = 1 << 20;

/// What the server says of the file.
struct Source {
    size: Option<u64>,
    version: Option<String>,
}

fn about(client: &mut Client<'_>, path: &str) -> Result<Source, FtpError> {
    let size = client.session.ask("SIZE", |ftp| ftp.size(path))?.ok().map(|size| size as u64);
    let time = client.session.ask("MDTM", |ftp| ftp.mdtm(path))?.ok();
    let version = size.zip(time).map(|(size, time)| format!("{size}-{}", time.format("%Y%m%d%H%M%S")));
    Ok(Source { size, version })
}

/// What moved.
pub(super) struct Moved {
    pub bytes: u64,
    pub last: Instant,
    pub own: Sized,
    pub bound: Vec<(Option<slowpath_copy::account::Bound>, u32)>,
    pub min_rtt: Option<Duration>,
    pub retransmitted: u64,
}

impl Moved {
    /// What a watched connection has moved by now.
    pub(super) fn of(
        data: &TcpStream,
        receives: bool,
        bytes: u64,
        watch: &Watch<'_>,
        asked: Option<Bytes>,
    ) -> Self {
        let info = tcp_info(data);
        let rtt = u64::from(info.min_rtt);
        Self {
            bytes,
            last: Instant::now(),
            own: Sized { asked, has: size_of(data, receives) },
            bound: watch.bound(),
            min_rtt: (rtt > 0 && info.min_rtt < u32::MAX).then(|| Duration::from_micros(rtt)),
            retransmitted: info.total_retrans.into(),
        }
    }
}

/// Transfers the file.
pub fn get(
    client: &mut Client<'_>,
    wanted: &Wanted<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, FtpError> {
    let path = &wanted.place.path;
    let source = about(client, path)?;
    let mut partial = Partial::open(&wanted.file, wanted.existing, source.version.as_deref())?;
    if source.size.is_some_and(|size| partial.kept > size) {
        partial.begin_anew()?;
    }
    client.prepare(wanted, |client| match source.size {
        Some(size) if size - partial.kept > probing::MOST => client.measure_from(path, progress),
        _ => Ok(None),
    })?;
    let name = format!("RETR {path}");
    let started = Instant::now();
    let stream = retrieve(client, &name, path, &mut partial)?;
    let kept = partial.kept;
    let (moved, told, stream) = move_all(client, wanted, &source, stream, &mut partial, progress)?;
    if let Some(server) = told.server {
        client.server_buffer = server;
    }
    let arrived = kept + moved.bytes;
    progress(Progress::Ends);
    finish(client, &name, stream, &told)?;
    if let Some(said) = source.size.filter(|said| *said != arrived) {
        partial.discard();
        let server = client.session.server().to_owned();
        let (said, arrived) = (Bytes::new(said), Bytes::new(arrived));
        return Err(FtpError::Size { server, said, arrived, is_more: false });
    }
    partial.finish()?;
    let moving = moved.last - started;
    Ok(Report {
        direction: Direction::Get,
        source: wanted.place.to_string(),
        destination: wanted.file.display().to_string(),
        amount: Bytes::new(arrived),
        ..report(client, wanted, moved, [started - client.began, moving])
    })
}

/// What both directions report alike.
pub(super) fn report(
    client: &Client<'_>,
    wanted: &Wanted<'_>,
    moved: Moved,
    [began, moving]: [Duration; 2],
) -> Report {
    Report {
        direction: wanted.direction,
        source: String::new(),
        destination: String::new(),
        amount: Bytes::new(moved.bytes),
        moved: Bytes::new(moved.bytes),
        lasted: client.began.elapsed(),
        began,
        moving,
        rate: Rate::of(Bytes::new(moved.bytes), moving).filter(|_| moved.bytes > 0),
        tuning: wanted.tuning,
        path: client.path,
        own: moved.own,
        server: client.server_buffer,
        min_rtt: moved.min_rtt,
        retransmitted: moved.retransmitted,
        bound: moved.bound,
    }
}

/// Opens the data connection, at the place where an interrupted transfer ended. A server that cannot begin there begins anew.
fn retrieve(
    client: &mut Client<'_>,
    name: &str,
    path: &str,
    partial: &mut Partial,
) -> Result<Stream, FtpError> {
    if partial.kept > 0 {
        let offset = partial.kept as usize;
        let resumed = client.session.ask(name, |ftp| {
            ftp.resume_transfer(offset)?;
            ftp.retr_as_stream(path)
        })?;
        match resumed {
            Ok(stream) => return Ok(stream),
            Err(_) => partial.begin_anew()?,
        }
    }
    client.open(name, |ftp| ftp.retr_as_stream(path))
}

/// Reads to the end of the data connection.
fn move_all(
    client: &mut Client<'_>,
    wanted: &Wanted<'_>,
    source: &Source,
    stream: Stream,
    partial: &mut Partial,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Moved, Told, Stream), FtpError> {
    let data = stream.get_ref().get_ref();
    if wanted.active {
        give(&data, &client.next);
    }
    set_next(&client.next, None);
    attend(data)?;
    let server = client.session.server().to_owned();
    let watch = Watch::new(data, true, &server, client.stop, source.size);
    let (sender, sizes) = mpsc::channel();
    let sizing = (wanted.tuning == Tuning::Drs).then(|| Sizing::new(data, true, sender));
    let asked = super::asked(client, wanted);
    // `sizing` has the sender of the sizes, so that the thread ends with it.
    let work = || read_all(data, source, partial, sizing, watch, asked, progress);
    let (moved, told) = client.while_telling(sizes, work)?;
    Ok((moved, told, stream))
}

fn read_all(
    mut data: &TcpStream,
    source: &Source,
    partial: &mut Partial,
    mut sizing: Option<Sizing>,
    mut watch: Watch<'_>,
    asked: Option<Bytes>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Moved, FtpError> {
    let mut buffer = vec![0; PIECE];
    let (mut moved, kept) = (0_u64, partial.kept);
    loop {
        let began = Instant::now();
        let read = data.read(&mut buffer);
        watch.spent.socket_ns += began.elapsed().as_nanos() as u64;
        match read {
            Ok(0) => break,
            Ok(count) => {
                moved += count as u64;
                if let Some(said) = source.size.filter(|said| kept + moved > *said) {
                    let arrived = Bytes::new(kept + moved);
                    return Err(FtpError::Size {
                        server: watch.server().to_owned(),
                        said: Bytes::new(said),
                        arrived,
                        is_more: true,
                    });
                }
                let began = Instant::now();
                partial.write(&buffer[..count])?;
                watch.spent.disk_ns += began.elapsed().as_nanos() as u64;
            }
            Err(error) if is_passing(&error) => {}
            Err(source) => {
                let command = "RETR".to_owned();
                return Err(FtpError::Broken { server: watch.server().to_owned(), command, source });
            }
        }
        if let Some(sizing) = &mut sizing {
            sizing.look(data);
        }
        watch.look(kept, moved, progress)?;
    }
    let asked = sizing.as_ref().and_then(|sizing| sizing.asked).or(asked);
    Ok(Moved::of(data, true, moved, &watch, asked))
}

/// Hears whether the server calls the transfer complete.
pub(super) fn finish(
    client: &mut Client<'_>,
    name: &str,
    stream: Stream,
    told: &Told,
) -> Result<(), FtpError> {
    let has_completed = told.has_completed;
    client.session.run(name, PATIENCE, |_| match stream.finish() {
        // The transfer's reply came in place of the last command's, whose reply this is.
        Err(suppaftp::FtpError::UnexpectedResponse(Response { status: Status::CommandOk, .. }))
            if has_completed =>
        {
            Ok(())
        }
        other => other,
    })
}
