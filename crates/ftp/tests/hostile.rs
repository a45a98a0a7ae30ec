//! Servers that stall, lie, or do not speak FTP.

use slowpath_files::Existing;
use slowpath_ftp::netrc::{Login, Secret};
use slowpath_ftp::place::place;
use slowpath_ftp::real::served::Server;
use slowpath_ftp::real::{Wanted, transfer};
use slowpath_ftp::report::{Direction, Report, ServerBuffer};
use slowpath_ftp::{FtpError, Tuning};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

fn get(
    at: SocketAddr,
    file: &Path,
    tuning: Tuning,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Report, FtpError> {
    let wanted = Wanted {
        direction: Direction::Get,
        place: place(&format!("ftp://{at}/file")).expect("a URL"),
        file: file.to_owned(),
        existing: Existing::Keep,
        login: Login { user: "me".to_owned(), password: Secret::new("hush".to_owned()) },
        tuning,
        store: &|_, _| Err("no such path".to_owned()),
        active: false,
    };
    transfer(&wanted, stop, &mut |_| ())
}

/// A server that answers each command that begins with a word by a text; others by 200. `None` answers with a data
/// connection, over which it sends so many bytes.
fn scripted(
    greeting: &'static str,
    answers: &'static [(&'static str, &'static str)],
    data: usize,
) -> SocketAddr {
    let listener = TcpListener::bind(ANY).expect("a port");
    let at = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        let Ok((control, _)) = listener.accept() else { return };
        let mut writer = control.try_clone().expect("a socket");
        let _ = writer.write_all(greeting.as_bytes());
        let data_at = TcpListener::bind(ANY).expect("a port");
        let port = data_at.local_addr().expect("its address").port();
        let mut ends: Option<TcpStream> = None;
        for line in BufReader::new(control).lines().map_while(Result::ok) {
            let found = answers.iter().find(|(command, _)| line.starts_with(command));
            let answer = match found {
                Some((_, text)) => (*text).to_owned(),
                None if line.starts_with("EPSV") => format!("229 data (|||{port}|)\r\n"),
                None if line.starts_with("PASS") => "230 in\r\n".to_owned(),
                None if line.starts_with("USER") => "331 more\r\n".to_owned(),
                None if line.starts_with("RETR") => "150 here\r\n".to_owned(),
                None if line.starts_with("SIZE") => "213 1000\r\n".to_owned(),
                None if line.starts_with("FEAT") || line.starts_with("MDTM") => "502 no\r\n".to_owned(),
                None => "200 ok\r\n".to_owned(),
            };
            if writer.write_all(answer.as_bytes()).is_err() {
                return;
            }
            if line.starts_with("RETR") && answer.starts_with("150") {
                let Ok((mut stream, _)) = data_at.accept() else { return };
                let _ = stream.write_all(&vec![7; data]);
                ends = Some(stream);
                drop(ends.take());
                let _ = writer.write_all(b"226 done\r\n");
            }
        }
        drop(ends);
    });
    at
}

/// The error of a get, and that nothing has the file's name.
fn error_of(at: SocketAddr) -> String {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("file");
    let text = get(at, &file, Tuning::Kernel, &|| false).expect_err("it is refused").to_string();
    assert!(!file.exists());
    assert!(!text.contains("hush"), "{text}");
    text
}

#[test]
fn errors_name_server_command_reply_and_fix() {
    for (greeting, answers, needed) in [
        ("HTTP/1.1 400 Bad Request\r\n", &[][..], "connect: the answer is not FTP"),
        ("421 full\r\n", &[], "\"421 full\"; the server takes no more connections"),
        (
            "220 hi\r\n",
            &[("PASS", "530 wrong\r\n")],
            "USER, PASS: the server answered \"530 wrong\"; name the user",
        ),
        (
            "220 hi\r\n",
            &[("RETR", "550 none\r\n")],
            "RETR file: the server answered \"550 none\"; check the path",
        ),
        ("220 hi\r\n", &[("TYPE", "\x1b[2J\r\n")], "TYPE I: the answer is not FTP"),
        (
            "220 hi\r\n",
            &[("EPSV", "502 no\r\n"), ("PASV", "227 (198,51,100,7,1,2)\r\n")],
            "names 198.51.100.7:258",
        ),
        ("220 hi\r\n", &[("EPSV", "502 no\r\n"), ("PASV", "227 (999,0,0,1,1,2)\r\n")], "RETR file"),
        ("220 hi\r\n", &[("EPSV", "229 (|||1|)\r\n")], "no data connection to port 1"),
    ] {
        let text = error_of(scripted(greeting, answers, 0));
        assert!(text.contains(needed), "{needed}: {text}");
        assert!(text.starts_with("127.0.0.1:"), "{text}");
    }
}

#[test]
fn sizes_that_lie_are_noticed() {
    let less = error_of(scripted("220 hi\r\n", &[], 10));
    assert!(less.contains("said that the file has 1000 B, and sent 10 B"), "{less}");
    let more = error_of(scripted("220 hi\r\n", &[], 3 << 20));
    assert!(more.contains("said that the file has 1000 B") && more.contains("and more"), "{more}");
}

#[test]
fn endless_replies_are_bounded() {
    let listener = TcpListener::bind(ANY).expect("a port");
    let at = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        let (mut control, _) = listener.accept().expect("a client");
        while control.write_all(&[b'x'; 65_536]).is_ok() {}
    });
    let text = error_of(at);
    assert!(text.contains("larger than"), "{text}");
}

#[test]
fn stop_ends_a_server_that_stalls() {
    let listener = TcpListener::bind(ANY).expect("a port");
    let at = listener.local_addr().expect("its address");
    let folder = TempDir::new().expect("a folder");
    let (stop, began) = (AtomicBool::new(false), Instant::now());
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            stop.store(true, Ordering::Relaxed);
        });
        get(at, &folder.path().join("file"), Tuning::Kernel, &|| stop.load(Ordering::Relaxed))
    });
    assert!(matches!(result, Err(FtpError::Stopped)), "{result:?}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

/// The lab's server, which takes SBUF.
fn served(tuning: Tuning, amount: u64) -> Report {
    let server = Server::bind(ANY, amount).expect("a port");
    let at = server.address().expect("its address");
    let folder = TempDir::new().expect("a folder");
    let has_ended = AtomicBool::new(false);
    let file = folder.path().join("file");
    let report = std::thread::scope(|scope| {
        scope.spawn(|| server.run(&|| has_ended.load(Ordering::Relaxed)));
        let report = get(at, &file, tuning, &|| false);
        has_ended.store(true, Ordering::Relaxed);
        report
    });
    let report = report.expect("it is fetched");
    assert_eq!(fs::metadata(&file).expect("the file").len(), amount);
    report
}

#[test]
fn server_that_offers_it_is_told_its_buffer() {
    let report = served(Tuning::Fixed(100_000), 4 << 20);
    assert!(
        matches!(report.server, ServerBuffer::Set { command: "SBUF", bytes } if bytes.get() == 100_000),
        "{report:?}"
    );
    assert_eq!(report.own.has.get(), 200_000, "the kernel doubles it");
    assert_eq!(served(Tuning::Kernel, 4 << 20).server, ServerBuffer::Unasked);
    let measured = served(Tuning::Auto, 64 << 20);
    assert!(measured.path.is_some(), "{measured:?}");
    served(Tuning::Drs, 64 << 20);
    assert_eq!(served(Tuning::Auto, 1 << 20).path, None, "too little to measure with");
}

#[test]
fn store_without_the_path_is_an_error() {
    let server = Server::bind(ANY, 10).expect("a port");
    let at = server.address().expect("its address");
    let folder = TempDir::new().expect("a folder");
    let has_ended = AtomicBool::new(false);
    let result = std::thread::scope(|scope| {
        scope.spawn(|| server.run(&|| has_ended.load(Ordering::Relaxed)));
        let result = get(at, &folder.path().join("file"), Tuning::Known, &|| false);
        has_ended.store(true, Ordering::Relaxed);
        result
    });
    assert!(matches!(result, Err(FtpError::NotKnown(why)) if why == "no such path"));
}
