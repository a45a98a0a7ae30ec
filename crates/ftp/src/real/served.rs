//! A server of the lab that lets its buffers be set, as those of Auto-ncFTP and DRS FTP did: no server of today's
//! distributions does. It has one file of zeros under each name, keeps nothing of what it is sent, and trusts everyone.

use super::session::LOOK;
use slowpath_copy::real::Stop;
use slowpath_copy::real::sockets::{receive_buffer, send_buffer};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::thread::Scope;

/// A command that is longer is not one.
const MOST_LINE: u64 = 4096;
const PIECE: usize = 256 << 10;

/// The server.
pub struct Server {
    listener: TcpListener,
    amount: u64,
}

impl Server {
    /// Listens. Each file has so many bytes.
    ///
    /// # Errors
    /// If that address cannot be listened on.
    pub fn bind(to: SocketAddr, amount: u64) -> io::Result<Self> {
        let listener = TcpListener::bind(to)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, amount })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves one client after the other until a stop is requested.
    pub fn run(&self, stop: Stop<'_>) {
        while !stop() {
            match self.listener.accept() {
                Ok((control, _)) => {
                    // A client that breaks off is no concern of the next.
                    let _ = Talk::new(&control, self.amount).and_then(|talk| talk.serve(&control, stop));
                }
                Err(_) => std::thread::sleep(LOOK / 20),
            }
        }
    }
}

/// What two threads of a session share: replies, and the data connection, whose buffers are set meanwhile.
struct Talk {
    control: Mutex<TcpStream>,
    data: Mutex<Option<TcpStream>>,
    amount: u64,
}

impl Talk {
    fn new(control: &TcpStream, amount: u64) -> io::Result<Self> {
        control.set_nonblocking(false)?;
        control.set_nodelay(true)?;
        control.set_read_timeout(Some(LOOK))?;
        Ok(Self { control: Mutex::new(control.try_clone()?), data: Mutex::default(), amount })
    }

    fn say(&self, line: &str) -> io::Result<()> {
        let mut control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        control.write_all(format!("{line}\r\n").as_bytes())
    }

    fn serve(&self, control: &TcpStream, stop: Stop<'_>) -> io::Result<()> {
        let mut state = State::default();
        let mut reader = BufReader::new(control);
        self.say("220 slowpath's lab")?;
        std::thread::scope(|scope| {
            let served = self.hear_all(scope, &mut reader, &mut state, stop);
            if let Some(data) = &*self.data.lock().unwrap_or_else(PoisonError::into_inner) {
                let _ = data.shutdown(Shutdown::Both);
            }
            served
        })
    }

    fn hear_all<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        reader: &mut BufReader<&TcpStream>,
        state: &mut State,
        stop: Stop<'_>,
    ) -> io::Result<()> {
        let mut line = String::new();
        while !stop() {
            match reader.by_ref().take(MOST_LINE).read_line(&mut line) {
                Ok(0) => return Ok(()),
                Ok(_) if line.ends_with('\n') => {
                    if !self.answer(scope, line.trim_end(), state)? {
                        return Ok(());
                    }
                    line.clear();
                }
                Ok(_) => return Err(ErrorKind::InvalidData.into()),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Answers a command. Returns whether the session goes on.
    fn answer<'s>(&'s self, scope: &'s Scope<'s, '_>, line: &str, state: &mut State) -> io::Result<bool> {
        let (command, argument) = line.split_once(' ').unwrap_or((line, ""));
        match command {
            "USER" => self.say("331 any password")?,
            "PASS" => self.say("230 welcome")?,
            "TYPE" | "NOOP" => self.say("200 ok")?,
            "FEAT" => self.say("211-Features:\r\n SBUF\r\n SIZE\r\n EPSV\r\n REST STREAM\r\n211 End")?,
            "SITE" => self.say("214 HELP")?,
            "SIZE" if argument.contains(super::partial::PARTIAL) || argument.ends_with("new") => {
                self.say("550 no such file")?;
            }
            "SIZE" => self.say(&format!("213 {}", self.amount))?,
            "SBUF" => self.size(argument, state)?,
            "EPSV" => {
                let mut own = self.control.lock().unwrap_or_else(PoisonError::into_inner).local_addr()?;
                own.set_port(0);
                let listener = TcpListener::bind(own)?;
                if let Some(bytes) = state.buffer {
                    receive_buffer(&listener, bytes);
                    send_buffer(&listener, bytes);
                }
                self.say(&format!("229 data at (|||{}|)", listener.local_addr()?.port()))?;
                state.listener = Some(listener);
            }
            "RETR" | "STOR" => match state.listener.take() {
                Some(listener) => {
                    let sends = command == "RETR";
                    self.say("150 it begins")?;
                    scope.spawn(move || self.transfer(&listener, sends));
                }
                None => self.say("425 no EPSV")?,
            },
            "RNFR" => self.say("350 to where?")?,
            "RNTO" => self.say("250 renamed")?,
            "QUIT" => {
                self.say("221 bye")?;
                return Ok(false);
            }
            _ => self.say("502 not here")?,
        }
        Ok(true)
    }

    /// The buffers of the next data connection, and of one that exists.
    fn size(&self, argument: &str, state: &mut State) -> io::Result<()> {
        let Ok(bytes) = argument.parse() else { return self.say("501 a number") };
        state.buffer = Some(bytes);
        if let Some(data) = &*self.data.lock().unwrap_or_else(PoisonError::into_inner) {
            receive_buffer(data, bytes);
            send_buffer(data, bytes);
        }
        self.say("200 set")
    }

    fn transfer(&self, listener: &TcpListener, sends: bool) {
        let moved = listener.accept().and_then(|(data, _)| {
            let own = data.try_clone()?;
            *self.data.lock().unwrap_or_else(PoisonError::into_inner) = Some(own);
            if sends { send(&data, self.amount) } else { receive(&data) }
        });
        *self.data.lock().unwrap_or_else(PoisonError::into_inner) = None;
        // Who has gone does not hear it.
        let _ = self.say(if moved.is_ok() { "226 complete" } else { "426 broken off" });
    }
}

#[derive(Default)]
struct State {
    listener: Option<TcpListener>,
    buffer: Option<u64>,
}

fn send(mut data: &TcpStream, amount: u64) -> io::Result<()> {
    let zeros = vec![0; PIECE];
    let mut left = amount;
    while left > 0 {
        let piece = left.min(PIECE as u64);
        data.write_all(&zeros[..piece as usize])?;
        left -= piece;
    }
    data.shutdown(Shutdown::Write)
}

fn receive(mut data: &TcpStream) -> io::Result<()> {
    let mut buffer = vec![0; PIECE];
    while data.read(&mut buffer)? > 0 {}
    Ok(())
}
