//! Clients that are too large, too slow, too many, or not allowed.

use crate::{Server, TOKEN, measured, now, pair};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How long a head may take (`serve/listen.rs`), and some more for a busy machine.
const HEAD: Duration = Duration::from_secs(5 + 10);

/// Whether the server hangs up within this time.
fn hangs_up(stream: &mut TcpStream, within: Duration) -> bool {
    stream.set_read_timeout(Some(within)).expect("a time");
    let mut said = [0; 1024];
    loop {
        match stream.read(&mut said) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == ErrorKind::ConnectionReset,
        }
    }
}

fn is_well(server: &Server) {
    let (status, body) = server.tcp("GET /v1/answer?to=198.51.100.7", "");
    assert_eq!((status, body["schema"].as_str()), (200, Some("slowpath/path/1")));
}

#[test]
fn garbage_and_excess_end_their_connection_only() {
    let server = Server::start(&measured(pair(7), now()), None);
    for bytes in [
        b"\x16\x03\x01\x02\x00\x01\x00".to_vec(),
        b"\0".repeat(100_000),
        b"GET / HTTP/9.9\r\n\r\n".to_vec(),
        format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(1 << 20)).into_bytes(),
        format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(100_000)).into_bytes(),
        b"POST /v1/entries HTTP/1.1\r\nHost: ::1\r\nContent-Length: 99999999999999999999999\r\n\r\n".to_vec(),
        b"POST /v1/entries HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
            .to_vec(),
    ] {
        let mut stream = TcpStream::connect(server.http).expect("it listens");
        // It hangs up when it has seen enough.
        let _ = stream.write_all(&bytes);
        assert!(hangs_up(&mut stream, HEAD), "{}", String::from_utf8_lossy(&bytes[..20.min(bytes.len())]));
        is_well(&server);
    }
    for path in
        ["/v1/answer?to=%00", "/v1/answer?to=%ff", "/v1/answer?to=,", "/v1/answer?to=1.2.3.4&to=1.2.3.4"]
    {
        assert_eq!(server.tcp(&format!("GET {path}"), "").0, 400, "{path}");
    }
    let many = vec!["192.0.2.1"; 17].join(",");
    assert_eq!(server.tcp(&format!("GET /v1/answer?to={many}"), "").0, 400);
    let json = "Content-Type: application/json";
    for body in ["[".repeat(60_000), "{\"entries\":[{}]}".to_owned(), "{\"entries\":[],\"x\":1}".to_owned()] {
        let (status, _) = server.unix(&format!("POST /v1/entries\n{json}"), &body);
        assert!(matches!(status, 400 | 422), "{status} {body:.20}");
    }
    is_well(&server);
}

#[test]
fn clients_that_trickle_are_disconnected_and_hold_up_nobody_else() {
    let server = Server::start(&measured(pair(7), now()), None);
    // As many as one listener serves at a time, and each says something now and then.
    let mut slow: Vec<TcpStream> =
        (0..256).map(|_| TcpStream::connect(server.http).expect("it listens")).collect();
    let begun = Instant::now();
    for stream in &mut slow {
        stream.write_all(b"GET /v1/answer?to=198.51.100.7 HTTP/1.1\r\n").expect("sent");
    }
    // The Unix socket has places of its own.
    let (status, _) = server.unix("GET /v1/answer?to=198.51.100.7", "");
    assert_eq!(status, 200);
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(500));
        for stream in &mut slow {
            let _ = stream.write_all(b"X: y\r\n");
        }
    }
    assert!(slow.iter_mut().all(|stream| hangs_up(stream, HEAD)));
    is_well(&server);
}

#[test]
fn body_that_never_comes_is_given_up() {
    let server = Server::start(&[], None);
    let mut stream = UnixStream::connect(server.socket()).expect("it listens");
    let head = "POST /v1/entries HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{";
    stream.write_all(head.as_bytes()).expect("sent");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time");
    let mut said = String::new();
    let _ = stream.read_to_string(&mut said);
    assert!(said.starts_with("HTTP/1.1 408 "), "{said}");
}

#[test]
fn other_hosts_need_the_token_for_everything() {
    let everywhere = SocketAddr::from(([0, 0, 0, 0], 0));
    let server = Server::listen(everywhere, &measured(pair(7), now()), Some(TOKEN));
    let near = SocketAddr::from(([127, 0, 0, 1], server.http.port()));
    let ask = |more: &str| {
        let head = format!("GET /v1/answer?to=198.51.100.7{more}");
        crate::exchange(TcpStream::connect(near).expect("it listens"), &head, "").0
    };
    assert_eq!(ask(""), 401);
    assert_eq!(ask("\nAuthorization: Bearer x"), 401);
    assert_eq!(ask(&format!("\nAuthorization: Basic {TOKEN}")), 401);
    assert_eq!(ask(&format!("\nAuthorization: Bearer {TOKEN}")), 200);
    assert_eq!(server.unix("GET /v1/health", "").0, 200);
}

#[test]
fn without_a_token_only_loopback_is_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("paths.db");
    let serving = |listen| slowpath_paths::Serving {
        store: &store,
        listen,
        socket: None,
        token: None,
        known: crate::known(),
    };
    let refused = |listen| {
        let served = slowpath_paths::serve(serving(listen), &|| true, &|_| ());
        served.err().map(|error| error.to_string())
    };
    let everywhere = refused(Some(SocketAddr::from(([0, 0, 0, 0], 0))));
    assert!(everywhere.is_some_and(|error| error.contains("--token")));
    assert!(!store.exists(), "it is refused before anything is created");
    assert!(refused(None).is_some());
    assert_eq!(refused(Some(SocketAddr::from(([127, 0, 0, 1], 0)))), None);
}

#[test]
fn page_of_a_browser_cannot_read_by_a_name_of_its_own() {
    let server = Server::start(&measured(pair(7), now()), None);
    assert_eq!(server.tcp("GET /v1/paths\nHost: rebound.example:5718", "").0, 403);
    assert_eq!(server.tcp("GET /v1/paths\nHost: localhost:5718", "").0, 200);
    assert_eq!(server.tcp("POST /v1/entries\nContent-Type: application/json", "{\"entries\":[]}").0, 403);
}

#[test]
fn socket_of_a_server_that_was_killed_is_replaced_and_that_of_another_is_not() {
    let server = Server::start(&[], None);
    let (socket, store) = (server.socket(), server.folder.path().join("paths.db"));
    let serve = |socket: &std::path::Path| {
        let serving = slowpath_paths::Serving {
            store: &store,
            listen: None,
            socket: Some(socket),
            token: None,
            known: crate::known(),
        };
        slowpath_paths::serve(serving, &|| true, &|_| ())
    };
    let error = serve(&socket).expect_err("it is taken").to_string();
    assert!(error.contains("a server listens there already"), "{error}");
    let left = server.folder.path().join("left");
    drop(std::os::unix::net::UnixListener::bind(&left).expect("a socket"));
    assert!(left.exists());
    serve(&left).expect("it is replaced");
    assert!(!left.exists(), "it is removed at the end");
    let file = server.folder.path().join("file");
    std::fs::write(&file, "kept").expect("a file");
    assert!(serve(&file).is_err());
    assert_eq!(std::fs::read_to_string(&file).expect("still there"), "kept");
}
