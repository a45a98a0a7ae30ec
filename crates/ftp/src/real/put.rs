//! From a local file to the server.

use super::data::{attend, give, set_next};
use super::get::{Moved, finish, report};
use super::moved::{Watch, drain, is_passing};
use super::partial::PARTIAL;
use super::probing;
use super::sizing::Sizing;
use super::{Client, Progress, Wanted};
use crate::error::FtpError;
use crate::report::{Direction, Report};
use crate::tuning::Tuning;
use slowpath_files::{Existing, open_regular};
use slowpath_model::Bytes;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::sync::mpsc;
use std::time::Instant;
use suppaftp::Status;

/// What is read from the disk at once.
const PIECE: usize = 1 << 20;

/// Transfers the file.
pub fn put(
    client: &mut Client<'_>,
    wanted: &Wanted<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, FtpError> {
    let failed = |source| FtpError::File { path: wanted.file.clone(), source };
    let mut file = open_regular(&wanted.file).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    let place = &wanted.place;
    if wanted.existing == Existing::Keep && client.session.ask("SIZE", |ftp| ftp.size(&place.path))?.is_ok() {
        return Err(FtpError::Exists(place.to_string()));
    }
    // Another version of the file has another name there.
    let version = format!("{}-{}", about.len(), about.mtime());
    let partial = place.beside(&format!("{PARTIAL}{}-{version}", place.name()));
    let left = client.session.ask("SIZE", |ftp| ftp.size(&partial))?.ok().map_or(0, |size| size as u64);
    let mut kept = if left <= about.len() { left } else { 0 };
    client.prepare(wanted, |client| {
        if kept > 0 || about.len() < probing::MOST {
            return Ok(None);
        }
        client.measure_to(&wanted.file, &partial, progress)
    })?;
    let started = Instant::now();
    let name = format!("STOR {partial}");
    let opened = match kept {
        0 => None,
        _ => client.session.ask("APPE", |ftp| ftp.append_with_stream(&partial))?.ok(),
    };
    let stream = match opened {
        Some(stream) => stream,
        None => {
            kept = 0;
            client.open(&name, |ftp| ftp.put_with_stream(&partial))?
        }
    };
    file.seek(SeekFrom::Start(kept)).map_err(failed)?;
    let data = stream.get_ref().get_ref();
    if wanted.active {
        give(&data, &client.next);
    }
    set_next(&client.next, None);
    attend(data)?;
    let server = client.session.server().to_owned();
    let watch = Watch::new(data, false, &server, client.stop, Some(about.len()));
    let (sender, sizes) = mpsc::channel();
    let sizing = (wanted.tuning == Tuning::Drs).then(|| Sizing::new(data, false, sender));
    let asked = super::asked(client, wanted);
    let work = || write_all(data, &mut file, wanted, kept, sizing, watch, asked, progress);
    let (moved, told) = client.while_telling(sizes, work)?;
    if let Some(server) = told.server {
        client.server_buffer = server;
    }
    finish(client, &name, stream, &told)?;
    progress(Progress::Ends);
    let moving = moved.last - started;
    rename(client, wanted, &partial, kept + moved.bytes)?;
    Ok(Report {
        direction: Direction::Put,
        source: wanted.file.display().to_string(),
        destination: place.to_string(),
        amount: Bytes::new(kept + moved.bytes),
        ..report(client, wanted, moved, [started - client.began, moving])
    })
}

/// Gives the file its name at the server, which has all of it.
fn rename(client: &mut Client<'_>, wanted: &Wanted<'_>, partial: &str, sent: u64) -> Result<(), FtpError> {
    let there = client.session.ask("SIZE", |ftp| ftp.size(partial))?.ok().map(|size| size as u64);
    if let Some(there) = there.filter(|there| *there != sent) {
        let server = client.session.server().to_owned();
        let (said, arrived) = (Bytes::new(there), Bytes::new(sent));
        return Err(FtpError::Kept { server, there: said, sent: arrived });
    }
    let to = wanted.place.path.as_str();
    if wanted.existing == Existing::Replace {
        // RFC 959 does not say what RNTO does to a file that exists. Where there is none, the server refuses.
        let _ = client.session.ask("DELE", |ftp| ftp.rm(to))?;
    }
    let name = format!("RNFR {partial}, RNTO {to}");
    let renamed = client.session.ask(&name, |ftp| {
        ftp.custom_command(format!("RNFR {partial}"), &[Status::RequestFilePending])?;
        ftp.custom_command(format!("RNTO {to}"), &[Status::RequestedFileActionOk, Status::CommandOk])
    })?;
    match renamed {
        Ok(_) => Ok(()),
        Err(reply) => Err(client.session.refused(&name, &reply)),
    }
}

#[expect(clippy::too_many_arguments, reason = "the state of one transfer, which lives nowhere else")]
fn write_all(
    mut data: &TcpStream,
    file: &mut File,
    wanted: &Wanted<'_>,
    kept: u64,
    mut sizing: Option<Sizing>,
    mut watch: Watch<'_>,
    asked: Option<Bytes>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Moved, FtpError> {
    let mut buffer = vec![0; PIECE];
    let mut sent = 0;
    loop {
        let began = Instant::now();
        let read = file.read(&mut buffer).map_err(FtpError::file(&wanted.file))?;
        watch.spent.disk_ns += began.elapsed().as_nanos() as u64;
        if read == 0 {
            break;
        }
        let mut left = &buffer[..read];
        while !left.is_empty() {
            let began = Instant::now();
            let written = data.write(left);
            watch.spent.socket_ns += began.elapsed().as_nanos() as u64;
            match written {
                Ok(count) => {
                    left = &left[count..];
                    sent += count as u64;
                }
                Err(error) if is_passing(&error) => {}
                Err(source) => {
                    let command = "STOR".to_owned();
                    return Err(FtpError::Broken { server: watch.server().to_owned(), command, source });
                }
            }
            if let Some(sizing) = &mut sizing {
                sizing.look(data);
            }
            watch.look(kept, sent, progress)?;
        }
    }
    // The end of the file is the end of the connection (RFC 959, section 3.4.1).
    data.shutdown(Shutdown::Write).map_err(FtpError::system("end the data connection"))?;
    drain(&mut watch, kept, sent, progress)?;
    let asked = sizing.as_ref().and_then(|sizing| sizing.asked).or(asked);
    Ok(Moved::of(data, false, sent, &watch, asked))
}
