//! The process that tunes is killed: the kernel detaches the program, and keeps nothing of it.

use crate::connection::{Connection, send_buffer};
use crate::group::Group;
use crate::{HERE, MIB, buffers, config, granted, targets};
use slowpath_lab::namespaces::{Namespaces, Place};
use slowpath_sockops::{Most, Tuner};
use std::env;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Names the control group to the child.
const GROUP: &str = "SLOWPATH_SOCKOPS_GROUP";

/// Not a test, but the process that tunes until it is killed.
#[test]
fn a_process_that_tunes() {
    let Some(group) = env::var_os(GROUP) else { return };
    let targets = targets("127.0.0.0/8", buffers(MIB, MIB));
    let tuner =
        Tuner::attach(Path::new(&group), Most { prefixes: 1 }, &config(), &targets).expect("attached");
    println!("attached");
    thread::park();
    drop(tuner);
}

fn start(group: &Group) -> Child {
    let mut command = Command::new(env::current_exe().expect("this test"));
    command.args(["--exact", "killed::a_process_that_tunes", "--nocapture"]).env(GROUP, group.path());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    assert!(lines.any(|line| line.is_ok_and(|line| line.contains("attached"))), "it ended");
    child
}

/// Programs that are attached to a control group for sockets' operations.
fn attached(group: &Path) -> u32 {
    let group = File::open(group).expect("the group");
    let mut count = 0;
    // SAFETY: no ids are asked for; the kernel writes their number to `count`.
    let failed = unsafe {
        libbpf_sys::bpf_prog_query(
            group.as_raw_fd(),
            libbpf_sys::BPF_CGROUP_SOCK_OPS,
            0,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            &raw mut count,
        )
    };
    assert_eq!(failed, 0, "the kernel answers");
    count
}

/// The send buffer of a new connection, in a namespace with small ones.
fn buffer_of_a_new_connection(namespaces: &Namespaces) -> (u64, Connection) {
    let opened = namespaces.inside(Place::Sender, || {
        let connection = Connection::to(HERE, |_| ());
        Ok((send_buffer(&connection.opened), connection))
    });
    opened.expect("it runs")
}

#[test]
#[ignore = "needs root"]
fn nothing_is_left_after_a_kill() {
    let group = Group::enter("killed");
    let namespaces = Namespaces::create().expect("as root");
    namespaces.sysctl(Place::Sender, "net.ipv4.tcp_wmem", "4096 16384 131072").expect("a sysctl");
    namespaces.ip(Place::Sender, "link set lo up").expect("ip");
    assert_eq!(attached(group.path()), 0);
    let mut child = start(&group);
    assert_eq!(attached(group.path()), 1);
    let (tuned, connection) = buffer_of_a_new_connection(&namespaces);
    assert_eq!(tuned, granted(MIB, "wmem_max"));
    child.kill().expect("it runs");
    child.wait().expect("it ended");
    let began = Instant::now();
    while attached(group.path()) > 0 {
        assert!(began.elapsed() < Duration::from_secs(10), "the program is still attached");
        thread::sleep(Duration::from_millis(20));
    }
    let (untuned, _other) = buffer_of_a_new_connection(&namespaces);
    assert!(untuned < MIB, "{untuned}");
    assert_eq!(send_buffer(&connection.opened), tuned, "what was set stays until the connection is closed");
}
