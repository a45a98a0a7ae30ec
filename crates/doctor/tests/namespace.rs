//! On the real kernel: a well-configured host has no finding, each wrong setting has exactly its own, the fix removes
//! the finding, and the undo command brings it back.

mod misset;

use misset::{OF_THE_MACHINE, PEER, Testbed, WrongSetting, goal, of_other_kernels, wrong_settings};
use slowpath_doctor::{Asked, Files, Finding, judge, read};
use slowpath_lab::namespaces::Place;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};

#[test]
#[ignore = "needs root"]
fn each_wrong_setting_is_found_alone_and_its_fix_works() {
    let testbed = Testbed::well_set();
    testbed.expect_none("well set");
    let mut all = wrong_settings();
    assert!(all.len() >= 20);
    for (kind, one) in of_other_kernels() {
        match testbed.0.execute(Place::Sender, &format!("tc qdisc add dev lo root {kind}")) {
            Ok(()) => all.push(one),
            Err(error) => println!("not judged: {}: {error}", one.finding),
        }
    }
    for WrongSetting { finding, set, reset } in &all {
        testbed.shell(set);
        let found = testbed.findings();
        let names: Vec<&str> = found.iter().map(|finding| finding.name()).collect();
        assert_eq!(names, [*finding], "{set}: {found:#?}");
        for fix in &found[0].fixes {
            testbed.shell(&fix.command);
            testbed.expect_none(&format!("{set}; {}", fix.command));
            match &fix.undo {
                Some(line) => testbed.shell(line),
                None => testbed.shell(set),
            }
            assert_eq!(testbed.findings(), found, "{set}; {}: undone", fix.command);
        }
        testbed.shell(reset);
        testbed.expect_none(&format!("{set}; {reset}"));
    }
}

/// Makes the calling thread unprivileged, without any capability: by the system call itself, since libc's function
/// would do it to all threads.
fn become_nobody() {
    const NOBODY: libc::c_long = 65_534;
    // SAFETY: plain numbers; it concerns the calling thread only.
    let done = unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}

#[test]
#[ignore = "needs root"]
fn findings_are_the_same_without_root() {
    let testbed = Testbed::well_set();
    let many = ["window-scaling", "shaper", "tso", "route-window", "mtu", "sack"];
    for WrongSetting { set, .. } in wrong_settings().iter().filter(|one| many.contains(&one.finding)) {
        testbed.shell(set);
    }
    let look = || read(&Files::default(), &Asked::To(PEER.into())).expect("there is a way");
    let by_root = testbed.0.inside(Place::Sender, || Ok(look())).expect("inside");
    let by_nobody = testbed.0.inside(Place::Sender, || {
        become_nobody();
        Ok(look())
    });
    let by_nobody = by_nobody.expect("inside");
    let found = |host| -> Vec<Finding> {
        judge(host, &goal()).into_iter().filter(|finding| !OF_THE_MACHINE.contains(&finding.name())).collect()
    };
    assert!(found(&by_root).len() >= many.len());
    assert_eq!(found(&by_nobody), found(&by_root));
    for unseen in by_nobody.unseen.iter().filter(|unseen| !by_root.unseen.contains(unseen)) {
        assert_eq!(unseen.needs, Some("CAP_NET_ADMIN"), "{unseen:?}");
    }
}

/// A connection within the namespaces, until both ends close.
fn connect(testbed: &Testbed) {
    let listener =
        testbed.0.inside(Place::Receiver, || Ok(TcpListener::bind((IpAddr::from(PEER), 0)).expect("a port")));
    let listener = listener.expect("inside");
    let to = listener.local_addr().expect("an address");
    let mut client =
        testbed.0.inside(Place::Sender, || Ok(TcpStream::connect(to).expect("the peer listens")));
    let client = client.as_mut().expect("inside");
    let (mut server, _) = listener.accept().expect("a connection");
    client.write_all(b"hello").expect("there is room");
    client.shutdown(std::net::Shutdown::Write).expect("open");
    let mut text = String::new();
    server.read_to_string(&mut text).expect("it comes");
    drop(server);
    client.read_to_string(&mut text).expect("the end comes");
}

/// A connection leaves its metrics: here the route's ssthresh, which the kernel caches with the first connection
/// (`tcpm_suck_dst`), as after a loss.
#[test]
#[ignore = "needs root"]
fn metrics_of_an_earlier_connection_are_found() {
    let testbed = Testbed::well_set();
    let line = "ip route replace 192.0.2.0/24 dev eth0 src 192.0.2.1";
    testbed.shell("sysctl -w net.ipv4.tcp_no_ssthresh_metrics_save=0");
    testbed.shell(&format!("{line} ssthresh 20"));
    let names = |found: &[Finding]| found.iter().map(|finding| finding.name()).collect::<Vec<_>>();
    assert_eq!(names(&testbed.findings()), ["route-ssthresh"]);
    connect(&testbed);
    testbed.shell(line);
    let found = testbed.findings();
    assert_eq!(names(&found), ["parameter-cache"], "{found:#?}");
    assert!(found[0].seen.contains("ssthresh 20"), "{found:#?}");
    testbed.shell(&found[0].fixes[0].command);
    testbed.expect_none("forgotten");
}
