//! nginx with one worker, its configuration and its files in the lab's own folder.

use super::hosts::{HOSTS, server_address};
use super::mixed::{self, Workload};
use super::{Requested, WebCase};
use crate::error::LabError;
use crate::host::Host;
use crate::namespaces::Namespaces;
use crate::scratch::Scratch;
use crate::task::{Class, Scheduling};
use crate::workload::programs::{Program, ProgramRecord, READY_WITHIN, Role, Watched, child, until};
use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const PORT: u16 = 80;
/// The folder of the files.
const FILES: &str = "files";
/// Where nginx reports its counters (`ngx_http_stub_status_module`).
const STATUS: &str = "/status";
const STATUS_WITHIN: Duration = Duration::from_secs(2);

/// The script with which the client requests the mixed workload.
pub(super) const SCRIPT: &str = "mixed.lua";

/// The URL of the requested file; of the mixed workload's first one.
pub fn url(requested: Requested) -> String {
    let file = match requested {
        Requested::FileKib(kib) => name(kib),
        Requested::Mixed => Workload::name(0),
    };
    format!("http://{}:{PORT}/{file}", server_address())
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

/// The configuration. Open files are cached, as in the paper's server (Flash); nothing is logged.
fn configuration(scratch: &Scratch, case: WebCase) -> String {
    let folder = scratch.file("");
    let folder = folder.display();
    let sendfile = if case.sendfile { "on" } else { "off" };
    let mut text = format!(
        "daemon off;\nuser root;\nworker_processes 1;\nworker_rlimit_nofile 8192;\npid \"{folder}nginx.pid\";\nerror_log stderr;\n\
         events {{ worker_connections 1024; }}\nhttp {{\n  access_log off;\n  sendfile {sendfile};\n  keepalive_requests {};\n  \
         open_file_cache max=4096;\n",
        case.requests
    );
    // Without these it would write below /var.
    for module in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        // Writing to a String never fails.
        let _ = writeln!(text, "  {module}_temp_path \"{folder}{module}\";");
    }
    let _ = write!(
        text,
        "  server {{\n    listen {PORT} backlog=1024;\n    root \"{folder}{FILES}\";\n    \
         location {STATUS} {{ stub_status; }}\n  }}\n}}\n"
    );
    text
}

/// Serves until `stop` is set. The calling thread cannot be used for anything else afterwards.
///
/// # Errors
/// If nginx cannot be started.
pub fn serve(
    namespaces: &Namespaces,
    scratch: &Scratch,
    case: WebCase,
    cpu: u32,
    stop: &AtomicBool,
) -> Result<ProgramRecord, LabError> {
    let path = scratch.file("nginx.conf");
    fs::write(&path, configuration(scratch, case)).map_err(LabError::file(&path))?;
    let folder = scratch.file("");
    // Debian keeps it outside a user's PATH.
    let command = format!(
        "PATH=$PATH:/usr/sbin; exec nginx -e stderr -p '{}' -c '{}'",
        folder.display(),
        path.display()
    );
    let program = program(Host::Sender, &command, cpu);
    child::watch(namespaces, (Role::Server, &program), &command, stop)
}

/// A program on one of the hosts, on its CPU.
pub(super) fn program(host: Host, command: &str, cpu: u32) -> Program {
    let scheduling = Scheduling { class: Class::Other, nice: 0, cpus: vec![cpu] };
    Program { host, command: command.to_owned(), congestion_control: None, scheduling: Some(scheduling) }
}

/// Waits until the server answers; returns whether it does. If not, it has ended, or takes too long.
pub fn is_ready(namespaces: &Namespaces, serving: &Watched<'_>) -> bool {
    let answers = || served(namespaces).is_ok();
    until(READY_WITHIN, || serving.is_finished() || answers()) && !serving.is_finished()
}

/// The counters of nginx since its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// Connections that it accepted.
    pub connections: u64,
    /// Requests on them.
    pub requests: u64,
}

/// Queries the server on its own host, so that the load does not delay the query. That adds one connection and one
/// request.
///
/// # Errors
/// If it does not answer in time.
pub fn served(namespaces: &Namespaces) -> Result<Served, LabError> {
    namespaces.inside(HOSTS[0], || {
        let asking = || LabError::system("ask nginx what it has served");
        let to = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
        let mut stream = TcpStream::connect_timeout(&to, STATUS_WITHIN).map_err(asking())?;
        stream.set_read_timeout(Some(STATUS_WITHIN)).map_err(asking())?;
        stream.write_all(format!("GET {STATUS} HTTP/1.0\r\n\r\n").as_bytes()).map_err(asking())?;
        let mut answer = String::new();
        stream.take(4096).read_to_string(&mut answer).map_err(asking())?;
        read_status(&answer)
            .ok_or_else(|| LabError::Unfit(format!("nginx answers to {STATUS} with {answer:?}")))
    })
}

/// ```text
/// server accepts handled requests
///  16630948 16630948 31070465
/// ```
fn read_status(answer: &str) -> Option<Served> {
    let (_, numbers) = answer.split_once("server accepts handled requests")?;
    let mut numbers = numbers.split_whitespace().map_while(|word| word.parse().ok());
    let (connections, _handled, requests) = (numbers.next()?, numbers.next()?, numbers.next()?);
    Some(Served { connections, requests })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nginx_status_is_parsed() {
        let answer = "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\n\r\nActive connections: 291 \nserver accepts handled requests\n \
                      16630948 16630947 31070465 \nReading: 6 Writing: 179 Waiting: 106 \n";
        assert_eq!(read_status(answer), Some(Served { connections: 16_630_948, requests: 31_070_465 }));
        for other in ["", "HTTP/1.1 404 Not Found\r\n\r\n", "server accepts handled requests\n 1 2 x"] {
            assert_eq!(read_status(other), None, "{other}");
        }
    }
}
