//! Tests of calls, as scripts write them.

use super::*;
use crate::config::Config;
use crate::script::{Action, Script};
use crate::source::Source;

fn prepared(text: &str) -> Result<Prepared, String> {
    let source = Source::new("t", &format!("0 {text}"));
    let script = Script::parse(&source, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    let Action::Call(call) = &script.events[0].action else { panic!("{text}") };
    prepare(call, &|fd| (fd < 10).then_some(fd as Fd + 100))
}

fn call(text: &str) -> Call {
    prepared(text).unwrap_or_else(|fault| panic!("{fault}")).call
}

fn fault(text: &str) -> String {
    prepared(text).expect_err(text)
}

#[test]
fn calls_are_parsed() {
    assert_eq!(
        call("socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 3"),
        Call::Socket { domain: None, kind: 0o4001, protocol: 6 }
    );
    assert_eq!(call("connect(3, AF_UNSPEC, ...) = 0"), Call::Connect { fd: 103, to: Peer::Family(0) });
    assert_eq!(
        call("setsockopt(3, SOL_SOCKET, SO_LINGER, {onoff=1, linger=2}, 8) = 0"),
        Call::SetOption { fd: 103, level: 1, name: 13, value: vec![1, 0, 0, 0, 2, 0, 0, 0], len: 8 }
    );
    let Call::Send { buffers, flags, to, .. } = call("sendto(3, ..., 5, MSG_FASTOPEN, ..., ...) = 5") else {
        panic!()
    };
    assert_eq!((buffers, flags, to), (vec![Buffer { null: false, len: 5 }], 0x2000_0000, Some(Peer::Usual)));
    let Call::Receive { buffers, .. } = call("readv(3, [{..., 3}, {..., 4}], 2) = 7") else { panic!() };
    assert_eq!(buffers.iter().map(|buffer| buffer.len).sum::<usize>(), 7);
    assert_eq!(
        call("epoll_ctl(4, EPOLL_CTL_ADD, 3, {events=EPOLLIN|EPOLLET, fd=3}) = 0"),
        Call::EpollCtl {
            epoll: 104,
            operation: 1,
            fd: 103,
            event: EpollEvent { events: 0x8000_0001, data: 103 }
        }
    );
    assert!(
        matches!(call("recv(3, NULL, 5, MSG_TRUNC) = 5"), Call::Receive { buffers, .. } if buffers[0].null)
    );
}

#[test]
fn invalid_calls_name_the_invalid_part() {
    for (text, part) in [
        ("read(3, ...) = 1", "takes 3 arguments, not 2"),
        ("read(30, ..., 5) = 1", "opened file descriptor 30"),
        ("setsockopt(3, SOL_TCP, TCP_NODELY, [1], 4) = 0", "TCP_NODELAY"),
        ("fork() = 0", "fork is not known"),
        ("read(3, ..., 5) = -1 EWHAT (what)", "EWHAT"),
        ("write(3, ..., -5) = 1", "not a length"),
        ("poll([{fd=3, events=POLLIN}], 2, 0) = 0", "1 files, but nfds is 2"),
    ] {
        assert!(fault(text).contains(part), "{}", fault(text));
    }
}

#[test]
fn results_are_compared_with_expected_ones() {
    let expected = |text: &str| prepared(text).unwrap().expected;
    let read = expected("read(3, ..., 5) = -1 EAGAIN (x)");
    assert!(read.check(&Returned::error(11), false, 0).is_ok());
    let difference = read.check(&Returned::value(3), false, 0).unwrap_err();
    assert_eq!((difference.expected.as_str(), difference.actual.as_str()), ("-1 EAGAIN", "3"));
    let open = expected("socket(..., SOCK_STREAM, 0) = 3");
    assert!(open.check(&Returned::value(17), true, 0).is_ok());
    assert!(open.check(&Returned::error(1), true, 0).is_err());
    let option = expected("getsockopt(3, SOL_TCP, TCP_MAXSEG, [1000], [4]) = 0");
    let with = |output| Returned { result: Ok(0), output };
    assert!(option.check(&with(Output::Option(1000i32.to_le_bytes().to_vec())), false, 0).is_ok());
    let difference = option.check(&with(Output::Option(vec![1, 0, 0, 0])), false, 0).unwrap_err();
    assert_eq!((difference.expected.as_str(), difference.actual.as_str()), ("value [1000]", "value [1]"));
    let polled = expected("poll([{fd=3, events=POLLIN, revents=POLLIN|POLLHUP}], 1, 0) = 1");
    let difference =
        polled.check(&Returned { result: Ok(1), output: Output::Polled(vec![1]) }, false, 0).unwrap_err();
    assert_eq!(difference.actual, "revents POLLIN");
}
