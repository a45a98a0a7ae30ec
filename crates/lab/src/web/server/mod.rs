//! The web server, its configuration and its files, in the lab's own folder: `nginx`, `apache` or `haproxy`.

mod apache;
mod haproxy;
mod nginx;

use super::hosts::{HOSTS, server_address};
use super::mixed::{self, Workload};
use super::{Requested, Server, WebCase};
use crate::error::LabError;
use crate::host::Host;
use crate::namespaces::Namespaces;
use crate::scratch::Scratch;
use crate::task::{Class, Scheduling};
use crate::workload::programs::{Program, ProgramRecord, READY_WITHIN, Role, Watched, child, until};
use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const PORT: u16 = 80;
/// The folder of the files.
const FILES: &str = "files";
/// Where a server reports its counters.
const STATUS: &str = "/status";
const STATUS_WITHIN: Duration = Duration::from_secs(2);
/// More than any server's counters take.
const MOST_BYTES: u64 = 16 << 10;

/// The script with which the client requests the mixed workload.
pub(super) const SCRIPT: &str = "mixed.lua";

/// The URL of the requested file; of the mixed workload's first one.
pub fn url(requested: Requested) -> String {
    format!("http://{}:{PORT}/{}", server_address(), first(requested))
}

fn first(requested: Requested) -> String {
    match requested {
        Requested::FileKib(kib) => name(kib),
        Requested::Mixed => Workload::name(0),
    }
}

fn name(kib: u32) -> String {
    format!("{kib}k")
}

/// Writes the files, and the script for the mixed workload. The contents of the files do not matter, except that not
/// all bytes are the same.
///
/// # Errors
/// If the folder for temporary files is full.
pub fn write_files(scratch: &Scratch, requested: &[Requested]) -> Result<(), LabError> {
    let folder = scratch.file(FILES);
    fs::create_dir_all(&folder).map_err(LabError::file(&folder))?;
    let write = |name: String, bytes: u64| {
        let content: Vec<u8> = (0..bytes).map(|at| (at % 251) as u8).collect();
        let path = folder.join(name);
        fs::write(&path, content).map_err(LabError::file(&path))
    };
    for requested in requested {
        match requested {
            Requested::FileKib(kib) => write(name(*kib), u64::from(*kib) * 1024)?,
            Requested::Mixed => {
                let workload = Workload::drawn(mixed::SEED);
                for (file, bytes) in workload.sizes.iter().enumerate() {
                    write(Workload::name(file), *bytes)?;
                }
                let path = scratch.file(SCRIPT);
                fs::write(&path, workload.script()).map_err(LabError::file(&path))?;
            }
        }
    }
    Ok(())
}

impl Server {
    /// The name of its program and of its processes; also of its Debian package.
    pub const fn program(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Apache => "apache2",
            Self::Haproxy(_) => "haproxy",
        }
    }

    fn configuration(self, folder: &str, case: WebCase) -> String {
        match self {
            Self::Nginx => nginx::configuration(folder, case),
            Self::Apache => apache::configuration(folder, case),
            Self::Haproxy(events) => haproxy::configuration(folder, case, events),
        }
    }

    /// The command that serves in the foreground.
    fn command(self, folder: &str, path: &str) -> String {
        let program = self.program();
        let arguments = match self {
            Self::Nginx => format!("-e stderr -p '{folder}' -c '{path}'"),
            Self::Apache => format!("-D FOREGROUND -f '{path}'"),
            Self::Haproxy(_) => format!("-db -f '{path}'"),
        };
        // Debian keeps them outside a user's PATH.
        format!("PATH=$PATH:/usr/sbin; exec {program} {arguments}")
    }

    /// What to append to the address of its counters, for an answer that is no web page.
    const fn as_text(self) -> &'static str {
        match self {
            Self::Nginx => "",
            Self::Apache => "?auto",
            Self::Haproxy(_) => ";csv",
        }
    }

    fn requests(self, answer: &str) -> Option<u64> {
        match self {
            Self::Nginx => nginx::requests(answer),
            Self::Apache => apache::requests(answer),
            Self::Haproxy(_) => haproxy::requests(answer),
        }
    }
}

/// Serves until `stop` is set. The calling thread cannot be used for anything else afterwards.
///
/// # Errors
/// If the server cannot be started.
pub fn serve(
    namespaces: &Namespaces,
    scratch: &Scratch,
    case: WebCase,
    cpu: u32,
    stop: &AtomicBool,
) -> Result<ProgramRecord, LabError> {
    let server = case.server;
    let path = scratch.file(&format!("{}.conf", server.program()));
    let folder = scratch.file("");
    if server == Server::Apache {
        // Its user must reach the files; none may list the folder.
        fs::set_permissions(&folder, Permissions::from_mode(0o711)).map_err(LabError::file(&folder))?;
    }
    let folder = folder.display().to_string();
    fs::write(&path, server.configuration(&folder, case)).map_err(LabError::file(&path))?;
    let command = server.command(&folder, &path.display().to_string());
    let program = program(Host::Sender, &command, cpu);
    child::watch(namespaces, (Role::Server, &program), &command, stop)
}

/// A program on one of the hosts, on its CPU.
pub(super) fn program(host: Host, command: &str, cpu: u32) -> Program {
    let scheduling = Scheduling { class: Class::Other, nice: 0, cpus: vec![cpu] };
    Program { host, command: command.to_owned(), congestion_control: None, scheduling: Some(scheduling) }
}

/// Waits until the server answers; returns whether it does. If not, it has ended, or takes too long.
pub fn is_ready(namespaces: &Namespaces, server: Server, serving: &Watched<'_>) -> bool {
    let answers = || served(namespaces, server).is_ok();
    until(READY_WITHIN, || serving.is_finished() || answers()) && !serving.is_finished()
}

/// The requests that the server has answered since its start. The query comes from its own host, so that the load does
/// not delay it; it adds one connection and one request.
///
/// # Errors
/// If it does not answer in time.
pub fn served(namespaces: &Namespaces, server: Server) -> Result<u64, LabError> {
    let path = format!("{STATUS}{}", server.as_text());
    let answer = fetched(namespaces, server, &path)?;
    server
        .requests(&answer)
        .ok_or_else(|| LabError::Unfit(format!("{} answers to {path} with {answer:?}", server.program())))
}

/// Checks that the server delivers the requested file.
///
/// # Errors
/// If it refuses, such as because its user may not read the file.
pub fn delivers(namespaces: &Namespaces, case: WebCase) -> Result<(), LabError> {
    let path = format!("/{}", first(case.requested));
    let answer = fetched(namespaces, case.server, &path)?;
    let status = answer.lines().next().unwrap_or_default();
    if status.split(' ').nth(1) == Some("200") {
        return Ok(());
    }
    Err(LabError::Unfit(format!("{} answers to {path} with {status:?}", case.server.program())))
}

/// The beginning of its answer to a request.
fn fetched(namespaces: &Namespaces, server: Server, path: &str) -> Result<String, LabError> {
    namespaces.inside(HOSTS[0], || {
        let asking = || LabError::system(format!("ask {} for {path}", server.program()));
        let to = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
        let mut stream = TcpStream::connect_timeout(&to, STATUS_WITHIN).map_err(asking())?;
        stream.set_read_timeout(Some(STATUS_WITHIN)).map_err(asking())?;
        stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).map_err(asking())?;
        let mut answer = Vec::new();
        stream.take(MOST_BYTES).read_to_end(&mut answer).map_err(asking())?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    })
}
