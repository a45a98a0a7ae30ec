//! Reading /proc and /sys with missing, empty, truncated or absurd files: what exists is read, the rest is unseen.

use slowpath_doctor::host::Softnet;
use slowpath_doctor::{Asked, Files, Goal, Host, Role, judge, read};
use slowpath_model::Rate;
use std::fs;
use std::time::Duration;
use tempfile::TempDir;

/// A folder in place of /proc and /sys.
struct Fixture(TempDir);

impl Fixture {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let folder = TempDir::new().expect("a folder");
        fs::create_dir_all(folder.path().join("proc/sys/net")).expect("a folder");
        for (name, bytes) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
            fs::write(path, bytes).expect("a file");
        }
        Self(folder)
    }

    /// Every host has a loopback interface.
    fn read(&self) -> Host {
        let files = Files { proc: self.0.path().join("proc"), sys: self.0.path().join("sys") };
        let host = read(&files, &Asked::By("lo".to_owned())).expect("loopback is there");
        let goal =
            Goal { rate: Rate::mbit(1000), rtt: Duration::from_millis(40), streams: 1, role: Role::Both };
        judge(&host, &goal);
        host
    }
}

fn unseen(host: &Host) -> Vec<&str> {
    host.unseen.iter().map(|unseen| unseen.what.as_str()).collect()
}

#[test]
fn existing_files_are_read() {
    let host = Fixture::new(&[
        ("proc/sys/kernel/osrelease", b"6.1.0-9-amd64\n"),
        ("proc/sys/net/ipv4/tcp_rmem", b"4096\t131072\t6291456\n"),
        ("proc/sys/net/ipv4/tcp_sack", b"1\n"),
        ("proc/thread-self/net/netstat", b"TcpExt: TCPTimeouts Other\nTcpExt: 7 8\n"),
        ("proc/thread-self/net/snmp", b"Tcp: InSegs MaxConn\nTcp: 9 -1\n"),
        ("proc/net/softnet_stat", b"00000010 00000002 00000003 0 0\n00000001 00000000 00000000\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", b"powersave\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", b"acpi-cpufreq\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", b"1200000\n"),
        ("sys/devices/system/cpu/cpufreq/boost", b"1\n"),
    ])
    .read();
    assert_eq!(host.version(), Some((6, 1)));
    assert_eq!(
        (host.part("net.ipv4.tcp_rmem", 2), host.number("net.ipv4.tcp_sack")),
        (Some(6_291_456), Some(1))
    );
    assert_eq!((host.counters["TcpExtTCPTimeouts"], host.counters["TcpInSegs"]), (7, 9));
    assert!(!host.counters.contains_key("TcpMaxConn"), "-1 is not a count");
    assert_eq!(host.softnet[0], Softnet { processed: 16, dropped: 2, squeezed: 3, cpu: None });
    assert_eq!((host.softnet.len(), host.clocks.len()), (2, 1));
    let clock = &host.clocks[0];
    assert_eq!(
        (clock.governor.as_str(), clock.allowed_khz, clock.most_khz),
        ("powersave", Some(1_200_000), None)
    );
    assert_eq!(host.interfaces[0].name, "lo");
}

/// Without any setting, nothing is known to limit a transfer, which is not the same as that nothing does.
#[test]
fn missing_proc_is_an_error() {
    let folder = TempDir::new().expect("a folder");
    let files = Files { proc: folder.path().join("proc"), sys: folder.path().join("sys") };
    let error = read(&files, &Asked::By("lo".to_owned())).expect_err("there is no /proc").to_string();
    assert!(error.contains("mount /proc"), "{error}");
}

#[test]
fn missing_files_are_unseen_and_not_judged() {
    let host = Fixture::new(&[]).read();
    assert!(host.sysctls.is_empty() && host.counters.is_empty() && host.softnet.is_empty());
    assert_eq!(host.version(), None);
    let unseen = unseen(&host);
    for what in
        ["the kernel's release", "counters of netstat", "what softirqs did", "CPU clocks", "net.ipv4.tcp_mem"]
    {
        assert!(unseen.contains(&what), "{what}: {unseen:?}");
    }
}

#[test]
fn empty_truncated_or_absurd_values_are_not_numbers() {
    let long = vec![b'7'; 3 << 20];
    let host = Fixture::new(&[
        ("proc/sys/kernel/osrelease", b""),
        ("proc/sys/net/ipv4/tcp_rmem", b"4096"),
        ("proc/sys/net/ipv4/tcp_wmem", b"\xff\xfe\x00"),
        ("proc/sys/net/ipv4/tcp_sack", b""),
        ("proc/sys/net/ipv4/tcp_dsack", &long),
        ("proc/sys/net/ipv4/tcp_mem", b"1 2 99999999999999999999999"),
        ("proc/thread-self/net/netstat", b"TcpExt: TCPTimeouts Other\nTcpExt: 7"),
        ("proc/thread-self/net/snmp", b"Tcp: InSegs\nUdp: 3\n\n\n:\n:"),
        ("proc/net/softnet_stat", b"0000\nzz zz zz\n\n11111111111111111111 1 1\n"),
        ("sys/devices/system/cpu/cpux/cpufreq/scaling_governor", b"powersave\n"),
        ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", b"powersave\n"),
    ])
    .read();
    assert_eq!((host.release.as_ref(), host.version()), (None, None));
    assert_eq!((host.part("net.ipv4.tcp_rmem", 0), host.part("net.ipv4.tcp_rmem", 2)), (Some(4096), None));
    assert_eq!((host.part("net.ipv4.tcp_wmem", 2), host.number("net.ipv4.tcp_dsack")), (None, None));
    assert_eq!((host.part("net.ipv4.tcp_mem", 1), host.part("net.ipv4.tcp_mem", 2)), (Some(2), None));
    assert!(unseen(&host).contains(&"net.ipv4.tcp_sack"), "an empty setting is not 0");
    assert_eq!((host.counters.get("TcpExtTCPTimeouts"), host.counters.get("TcpInSegs")), (Some(&7), None));
    assert!(host.softnet.is_empty() && host.clocks.is_empty());
}

#[test]
fn missing_interface_or_route_is_an_error() {
    let error = read(&Files::default(), &Asked::By("no-such-card".to_owned())).expect_err("there is none");
    assert_eq!(error.to_string(), "there is no interface no-such-card");
}
