//! Dynamic Right-Sizing: what moves in an RTT, and the thread that tells the server meanwhile.

use super::Client;
use super::data::size_of;
use super::session::PATIENCE;
use crate::error::FtpError;
use crate::offers::BufferCommand;
use crate::report::ServerBuffer;
use slowpath_copy::drs::Sizer;
use slowpath_copy::real::sockets::{now, receive_buffer, send_buffer, tcp_info, window_up_to};
use slowpath_model::Bytes;
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;
use suppaftp::{FtpStream, Status};

/// Sizes the buffers of a data connection while it transfers.
pub struct Sizing {
    sizer: Sizer,
    receives: bool,
    tell: Sender<u64>,
    /// What was asked for last.
    pub asked: Option<Bytes>,
}

impl Sizing {
    /// A connection that begins now; `tell` gets each size for the server.
    pub fn new(data: &TcpStream, receives: bool, tell: Sender<u64>) -> Self {
        // Half of a buffer holds data (`tcp_win_from_space`, with a `scaling_ratio` of one half).
        let window = size_of(data, receives).get() / 2;
        Self { sizer: Sizer::with_window(now(), window), receives, tell, asked: None }
    }

    /// To be called often: has the buffer grow when an RTT has passed in which more moved than before.
    pub fn look(&mut self, data: &TcpStream) {
        let info = tcp_info(data);
        let (moved, measured) =
            if self.receives { (info.bytes_received, info.rcv_rtt) } else { (info.bytes_acked, info.rtt) };
        let rtt = if info.min_rtt > 0 && info.min_rtt < u32::MAX { info.min_rtt } else { measured };
        let Some(bytes) = self.sizer.arrived(moved, Duration::from_micros(u64::from(rtt)), now()) else {
            return;
        };
        if self.receives {
            receive_buffer(data, bytes);
            window_up_to(data, bytes);
        } else {
            send_buffer(data, bytes);
        }
        self.asked = Some(Bytes::new(bytes));
        // Without a command for it, nobody listens.
        let _ = self.tell.send(bytes);
    }
}

/// What talking during the transfer gave.
#[derive(Default)]
pub struct Told {
    /// The server's buffer, if it was told of one.
    pub server: Option<ServerBuffer>,
    /// Whether the reply to the transfer has come already: then the last command's is still to come.
    pub has_completed: bool,
}

impl Client<'_> {
    /// Moves data, and tells the server sizes meanwhile. `work` drops the sender of the sizes when it ends.
    pub(super) fn while_telling<T>(
        &mut self,
        sizes: Receiver<u64>,
        work: impl FnOnce() -> Result<T, FtpError>,
    ) -> Result<(T, Told), FtpError> {
        let (ftp, command, watchdog) = (&mut self.session.ftp, self.command, self.session.watchdog);
        let socket = &self.session.socket;
        std::thread::scope(|scope| {
            let telling = scope.spawn(move || tell(ftp, command, &sizes));
            let moved = work();
            match &moved {
                Ok(_) => watchdog.allow(Some(PATIENCE)),
                // The answers that would come are of no interest, and might not come.
                Err(_) => drop(socket.shutdown(Shutdown::Both)),
            }
            let told = telling.join().unwrap_or_default();
            watchdog.allow(None);
            moved.map(|moved| (moved, told))
        })
    }
}

/// Tells the server each size, until there are no more. Servers that hear nothing during a transfer answer at its end: the
/// transfer's reply comes first then.
fn tell(ftp: &mut FtpStream, command: Option<BufferCommand>, sizes: &Receiver<u64>) -> Told {
    let mut told = Told::default();
    while let Ok(size) = sizes.recv() {
        let Some(command) = command else { continue };
        if told.has_completed {
            continue;
        }
        // Only the newest counts.
        let size = sizes.try_iter().last().unwrap_or(size);
        let name = command.name();
        let expected = [Status::CommandOk, Status::ClosingDataConnection, Status::RequestedFileActionOk];
        match ftp.custom_command(command.with(size), &expected) {
            Ok(reply) => {
                told.has_completed = reply.status != Status::CommandOk;
                told.server = Some(ServerBuffer::Set { command: name, bytes: Bytes::new(size) });
            }
            Err(_) => {
                told.server = Some(ServerBuffer::Refused { command: name });
                // A server that refuses once is not asked again.
                while sizes.recv().is_ok() {}
            }
        }
    }
    told
}
