//! `slowpath ftp` as a program, from the lab's server on loopback.

use crate::captures::Captures;
use crate::{flat, json, outcome, run, slowpath, text};
use slowpath_ftp::real::served::Server;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};

/// Each file of the server.
const AMOUNT: u64 = 3 << 20;

/// Runs the program with a server's address in place of `AT`.
fn with_server(folder: &Captures, args: &[&str]) -> (i32, String, String) {
    let any = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
    let server = Server::bind(any, AMOUNT).expect("a port");
    let at = server.address().expect("its address").to_string();
    let has_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| server.run(&|| has_ended.load(Ordering::Relaxed)));
        let args = args.iter().map(|arg| arg.replace("AT", &at));
        let output = slowpath(folder).arg("ftp").args(args).output().expect("the binary runs");
        has_ended.store(true, Ordering::Relaxed);
        let (code, out, err) = outcome(&output);
        (code, out.replace(&at, "AT"), err.replace(&at, "AT"))
    })
}

#[test]
fn file_is_fetched_and_what_exists_is_kept() {
    let folder = Captures::new();
    let (code, out, err) = with_server(&folder, &["get", "ftp://AT/pub/file", "here"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(flat(&out).starts_with("Transferred 3 MiB to here in "), "{out}");
    assert!(flat(&out).contains("This host's receive buffer was sized by its kernel"), "{out}");
    assert_eq!(fs::metadata(folder.path("here")).expect("the file").len(), AMOUNT);
    let (code, out, err) = with_server(&folder, &["get", "ftp://AT/pub/file", "here"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("here: exists already; name another file, or replace it with --force"), "{err}");
    let (code, ..) = with_server(&folder, &["get", "--force", "ftp://AT/pub/file", "here"]);
    assert_eq!(code, 0);
}

#[test]
fn file_is_stored() {
    let folder = Captures::new();
    fs::write(folder.path("here"), vec![1; 100_000]).expect("a file");
    // The lab's server keeps nothing; it has no file whose name ends so.
    let (code, out, err) = with_server(&folder, &["put", "--buffer", "64KiB", "here", "ftp://AT/new"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(flat(&out).contains("The server's buffer was set to 64 KiB (SBUF)."), "{out}");
    let (code, _, err) = with_server(&folder, &["put", "here", "ftp://AT/pub/file"]);
    assert_eq!(code, 2);
    assert!(err.contains("ftp://AT/pub/file: exists already"), "{err}");
}

#[test]
fn json_has_who_sized_the_buffers() {
    let folder = Captures::new();
    let (code, out, _) = with_server(&folder, &["get", "--json", "--buffer", "64KiB", "ftp://AT/file"]);
    let document = json(&out);
    assert_eq!((code, &document["schema"]), (0, &"slowpath/ftp/1".into()));
    assert_eq!(document["bytes"], AMOUNT);
    assert_eq!((&document["tuning"], &document["server_buffer"]), (&"fixed".into(), &"set".into()));
    assert_eq!(
        (&document["asked_buffer_bytes"], &document["buffer_bytes"]),
        (&65_536.into(), &131_072.into())
    );
}

#[test]
fn what_cannot_be_done_is_said() {
    let folder = Captures::new();
    for (args, needed) in [
        (&["get", "http://host/x"][..], "write ftp://[USER@]HOST[:PORT]/PATH"),
        (&["get", "ftp://a/x", "ftp://b/x"], "a transfer between two servers"),
        (&["get", "--netrc", "none", "ftp://AT/x"], "none: No such file"),
        (&["get", "--tuning", "paths", "--store", "none", "ftp://AT/x"], "slowpath paths measure"),
    ] {
        let (code, out, err) = with_server(&folder, args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}");
        assert!(flat(&err).contains(needed), "{needed}: {err}");
    }
}

#[test]
fn passwords_are_read_from_private_files_and_never_printed() {
    let folder = Captures::new();
    fs::write(folder.path("netrc"), "machine 127.0.0.1 login me password hush\n").expect("a file");
    fs::set_permissions(folder.path("netrc"), fs::Permissions::from_mode(0o644)).expect("its mode");
    let (code, _, err) = with_server(&folder, &["get", "--netrc", "netrc", "ftp://AT/x"]);
    assert_eq!(code, 2);
    assert!(err.contains("netrc: others may read or write it; `chmod 600` it"), "{err}");
    fs::set_permissions(folder.path("netrc"), fs::Permissions::from_mode(0o600)).expect("its mode");
    let (code, out, err) = with_server(&folder, &["get", "--netrc", "netrc", "ftp://AT/x"]);
    assert_eq!(code, 0, "{err}");
    let (_, other, more) = with_server(&folder, &["get", "--json", "ftp://me:hush@AT/y"]);
    assert!(![out, err, other, more].iter().any(|text| text.contains("hush")));
}

#[test]
fn ftp_help() {
    insta::assert_snapshot!(text(&run(&Captures::new(), &["ftp", "get", "--help"]).stdout));
}
