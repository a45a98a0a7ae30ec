//! The measurement of Auto-ncFTP: the beginning of the file is transferred with large buffers, and its bursts show the rate.
//! What moved is not used: the transfer begins anew, on a connection whose buffers fit.

use super::data::attend;
use super::moved::is_passing;
use super::session::PATIENCE;
use super::{Client, Progress};
use crate::burst::Bursts;
use crate::error::FtpError;
use crate::tuning::{Basis, PathValues};
use slowpath_copy::real::sockets::{now, tcp_info};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

/// The buffers while it measures. Slow start is not to reach them.
const BUFFER: u64 = 8 << 20;
/// No more than this is moved, and no file is measured with that is smaller: it would take as long as the transfer.
pub const MOST: u64 = 8 << 20;
/// Slow start from 10 segments has moved 7 MB after so many RTTs.
const RTTS: u32 = 9;
const SHORTEST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(5);
/// While it uploads, it looks so often at what was acknowledged.
const LOOK: Duration = Duration::from_micros(100);

/// Until when to measure on a path with this RTT.
fn end(rtt: Duration) -> Instant {
    Instant::now() + (rtt * RTTS).clamp(SHORTEST, LONGEST)
}

impl Client<'_> {
    fn found(&self, rtt: Duration, bursts: &Bursts) -> Option<PathValues> {
        bursts.rate().map(|rate| PathValues { rtt, rate, basis: Basis::Measured })
    }

    /// Measures the path from the server, by the beginning of a file of at least [`MOST`].
    pub(super) fn measure_from(
        &mut self,
        path: &str,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Option<PathValues>, FtpError> {
        progress(Progress::Measures);
        let rtt = self.rtt();
        self.size(BUFFER)?;
        let stream = self.open(&format!("RETR {path}"), |ftp| ftp.retr_as_stream(path))?;
        let mut data = stream.get_ref().get_ref();
        super::data::give(&data, &self.next);
        attend(data)?;
        let (mut bursts, mut moved, until) = (Bursts::new(rtt), 0, end(rtt));
        // Small, so that a burst takes many reads.
        let mut buffer = vec![0; 64 << 10];
        while moved < MOST && Instant::now() < until {
            match data.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => moved += count as u64,
                Err(error) if is_passing(&error) => {}
                Err(_) => break,
            }
            bursts.moved(moved, now());
            if (self.stop)() {
                return Err(FtpError::Stopped);
            }
        }
        let _ = data.shutdown(Shutdown::Both);
        // The server says that the transfer broke off, or has sent all of it into its buffer.
        let ended = self.session.run("RETR", PATIENCE, |_| match stream.finish() {
            Err(suppaftp::FtpError::UnexpectedResponse(_)) => Ok(()),
            other => other,
        });
        ended.map(|()| self.found(rtt, &bursts))
    }

    /// Measures the path to the server, by storing the beginning of a file of at least [`MOST`] under a name that the transfer
    /// replaces.
    pub(super) fn measure_to(
        &mut self,
        file: &Path,
        partial: &str,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Option<PathValues>, FtpError> {
        progress(Progress::Measures);
        let rtt = self.rtt();
        self.size(BUFFER)?;
        let mut source = File::open(file).map_err(FtpError::file(file))?;
        let mut content = vec![0; MOST as usize];
        source.read_exact(&mut content).map_err(FtpError::file(file))?;
        let stream = self.open(&format!("STOR {partial}"), |ftp| ftp.put_with_stream(partial))?;
        let data = stream.get_ref().get_ref();
        super::data::give(&data, &self.next);
        let bursts = self.upload(data, &content, rtt)?;
        let ended = self.session.run("STOR", PATIENCE, |_| match stream.finish() {
            Err(suppaftp::FtpError::UnexpectedResponse(_)) => Ok(()),
            other => other,
        });
        ended.map(|()| self.found(rtt, &bursts))
    }

    fn upload(&self, mut data: &TcpStream, content: &[u8], rtt: Duration) -> Result<Bursts, FtpError> {
        data.set_nonblocking(true).map_err(FtpError::system("write without waiting"))?;
        let (mut bursts, mut left, until) = (Bursts::new(rtt), content, end(rtt));
        while Instant::now() < until {
            if !left.is_empty() {
                match data.write(left) {
                    Ok(count) => left = &left[count..],
                    Err(error) if is_passing(&error) => {}
                    Err(_) => break,
                }
            }
            let info = tcp_info(data);
            if left.is_empty() && info.unacked == 0 {
                break;
            }
            bursts.moved(info.bytes_acked, now());
            if (self.stop)() {
                return Err(FtpError::Stopped);
            }
            std::thread::sleep(LOOK);
        }
        Ok(bursts)
    }
}
