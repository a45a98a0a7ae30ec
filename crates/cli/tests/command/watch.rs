//! `watch` on a pseudo-terminal.

use super::{outcome, run, send_signal, slowpath};
use crate::captures::Captures;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

const LEAVES_THE_SCREEN: &str = "\x1b[?1049l";

#[test]
fn without_a_terminal_other_commands_are_named() {
    let (code, out, err) = outcome(&run(&Captures::new(), &["watch", "--own"]));
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("needs a terminal") && err.contains("diagnose --live"), "{err}");
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    for (args, says) in [
        (&["watch", "--by", "file"][..], "invalid value 'file'"),
        (&["watch", "--port", "0"], "0 is not in 1..=65535"),
        (&["watch", "--own", "--netns", "x"], "cannot be used with"),
    ] {
        let (code, _, err) = outcome(&run(&Captures::new(), args));
        assert!(code == 2 && err.contains(says), "{args:?}: {code} {err}");
    }
}

/// A terminal of 80 columns and 24 lines, on which the program runs.
struct Terminal {
    keys: File,
    /// The program's side, which keeps the terminal's settings.
    side: File,
    shown: Receiver<Vec<u8>>,
    child: Child,
    written: Vec<u8>,
    _folder: Captures,
}

impl Terminal {
    fn start(args: &[&str]) -> Self {
        let size = libc::winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        let (mut ours, mut theirs) = (-1, -1);
        let (name, settings) = (std::ptr::null_mut(), std::ptr::null());
        // SAFETY: both descriptors are written, and the size is read, during the call only.
        let result = unsafe { libc::openpty(&mut ours, &mut theirs, name, settings, &size) };
        assert_eq!(result, 0, "a pseudo-terminal");
        // SAFETY: they were just opened, and belong to nobody else.
        let (keys, side) = unsafe { (File::from_raw_fd(ours), File::from_raw_fd(theirs)) };
        let stdio = || Stdio::from(side.try_clone().expect("a descriptor"));
        let folder = Captures::new();
        let mut command = slowpath(&folder);
        command.env("TERM", "xterm").args(args).stdin(stdio()).stdout(stdio()).stderr(stdio());
        let child = command.spawn().expect("the binary runs");
        let mut output = keys.try_clone().expect("a descriptor");
        let (sender, shown) = channel();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = output.read(&mut buffer) {
                if sender.send(buffer[..length].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { keys, side, shown, child, written: Vec::new(), _folder: folder }
    }

    /// Whether `text` is on the screen, or was written, within some seconds.
    fn shows(&mut self, text: &str, within: Duration) -> bool {
        let began = Instant::now();
        loop {
            let is_there = self.screen().contains(text) || self.text().contains(text);
            if is_there || began.elapsed() > within {
                return is_there;
            }
            self.written.extend(self.shown.recv_timeout(Duration::from_millis(100)).into_iter().flatten());
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.written).into_owned()
    }

    /// What is on the screen: text where the last `CSI row ; column H` put it.
    fn screen(&self) -> String {
        let mut cells = [[' '; 80]; 24];
        let (mut row, mut column) = (0, 0);
        let text = self.text();
        let mut rest = text.chars();
        while let Some(letter) = rest.next() {
            if letter != '\x1b' {
                if let Some(cell) = cells.get_mut(row).and_then(|line| line.get_mut(column)) {
                    *cell = letter;
                }
                column += 1;
                continue;
            }
            rest.next();
            let mut sequence = String::new();
            for letter in rest.by_ref() {
                sequence.push(letter);
                if letter.is_ascii_alphabetic() {
                    break;
                }
            }
            if let Some((to_row, to_column)) = sequence.strip_suffix('H').and_then(|to| to.split_once(';')) {
                let place =
                    |number: &str| number.parse::<usize>().map_or(0, |number| number.saturating_sub(1));
                (row, column) = (place(to_row), place(to_column));
            }
        }
        cells.map(|line| line.iter().collect::<String>()).join("\n")
    }

    /// The terminal's modes: raw or not, with echo or not.
    fn modes(&self) -> (u32, u32, u32) {
        // SAFETY: zeroes are valid settings, and the call overwrites them.
        let mut settings: libc::termios = unsafe { std::mem::zeroed() };
        // SAFETY: the descriptor is open, and the settings are written during the call only.
        assert_eq!(unsafe { libc::tcgetattr(self.side.as_raw_fd(), &mut settings) }, 0);
        (settings.c_lflag, settings.c_iflag, settings.c_oflag)
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("the terminal is there");
    }

    /// Waits for the program's end; returns its exit code.
    fn end(&mut self) -> Option<i32> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it is a child") {
                return status.code();
            }
            assert!(began.elapsed() < Duration::from_secs(10), "it does not end: {}", self.screen());
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It has ended if the test passed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// However it ends, the terminal is as before.
#[test]
fn the_terminal_is_restored() {
    for how in ["q", "\x03", "terminate", "hang up"] {
        let mut terminal = Terminal::start(&["watch", "--own", "--port", "9"]);
        // The program may have changed them already, but not what a new terminal has.
        assert!(terminal.shows("No connections.", Duration::from_secs(20)), "{}", terminal.screen());
        let raw = terminal.modes();
        match how {
            "terminate" => send_signal(&terminal.child, libc::SIGTERM),
            "hang up" => send_signal(&terminal.child, libc::SIGHUP),
            keys => terminal.press(keys),
        }
        assert_eq!(terminal.end(), Some(0), "{how}: {}", terminal.screen());
        assert!(terminal.shows(LEAVES_THE_SCREEN, Duration::from_secs(2)), "{how}: {}", terminal.screen());
        let (local, ..) = terminal.modes();
        let both = libc::ICANON | libc::ECHO;
        assert_eq!((raw.0 & both, local & both), (0, both), "{how}");
    }
}

/// A slow reader is named, with its words, and its pages open.
fn shows_a_slow_reader(args: &[&str], words: &str) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let address = listener.local_addr().expect("an address");
    let port = address.port().to_string();
    let mut client = TcpStream::connect(address).expect("a connection");
    let mut server = listener.accept().expect("its other end").0;
    let writer = thread::spawn(move || while client.write_all(&[1; 1 << 16]).is_ok() {});
    let (stop, stopped) = channel::<()>();
    let reader = thread::spawn(move || {
        while stopped.recv_timeout(Duration::from_millis(50)).is_err() {
            let _ = server.read(&mut [0; 1 << 16]);
        }
    });
    let mut terminal = Terminal::start(&[&["watch", "--port", &port], args].concat());
    assert!(terminal.shows(words, SHOWN), "{}", terminal.screen());
    terminal.press("\r");
    assert!(terminal.shows("Socket of the sender", SHOWN), "{}", terminal.screen());
    terminal.press("\r");
    assert!(terminal.shows("Esc back  q quit", SHOWN), "{}", terminal.screen());
    terminal.press("q");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.screen());
    stop.send(()).expect("it reads");
    reader.join().expect("it ends");
    writer.join().expect("it ends with the other end");
}

/// The first second, and some for a busy machine.
const SHOWN: Duration = Duration::from_secs(20);

#[test]
fn tcp_info_shows_a_slow_reader_on_the_screen() {
    // Without the waits, the windows alone tell a slow reader from a buffer that grows.
    shows_a_slow_reader(&["--own"], "receive window: ");
}

#[test]
#[ignore = "needs root"]
fn probe_shows_a_slow_reader_on_the_screen() {
    shows_a_slow_reader(&[], "receive window: the receiving application read too slowly");
}
