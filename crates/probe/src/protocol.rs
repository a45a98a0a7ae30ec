//! The protocol between the two programs of a measurement.
//!
//! Over TCP, messages: four bytes of length (big-endian, as all numbers here), one byte of type, and fields. Invalid
//! bytes are an error at the first byte that cannot be part of a message; memory is allocated only up to the length
//! that the other end may send.
//!
//! In UDP, datagrams: the session's token, the type, and the numbers of train and packet. A datagram without the token
//! is ignored.

use crate::measure::{Direction, Train};
use slowpath_model::shown;

/// The version of both. An end with another version is refused.
pub const VERSION: u16 = 1;
/// The start of the first message, so that a browser is not mistaken for a probe.
const MAGIC: [u8; 8] = *b"slowpath";
/// The longest client message: all of them have a few fields.
pub const CLIENT_BYTES: usize = 128;
/// The longest server message.
pub const SERVER_BYTES: usize = 64 * 1024;
/// Times in one message.
pub const MOST_TIMES: usize = 4096;
/// Packets in a train, for both ends.
pub const MOST_PACKETS: u32 = 1 << 16;
/// Packets in a burst, as far as the far end's rate allows.
pub const MOST_BURST: u32 = 1024;
/// How long a burst may take at the highest rate.
pub const BURST_NS: u64 = 20_000_000;
/// Bytes of a reason.
const MOST_REASON: usize = 400;

/// Identifies a session's datagrams and connections: random, from the kernel.
pub type Token = [u8; 16];

/// A packet of a train and a time: its arrival at the server, or its departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Its number in the train, from 0.
    pub packet: u32,
    /// The server's clock.
    pub at_ns: u64,
}

/// The `TCP_INFO` of a connection at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpEnd {
    /// `tcpi_rtt`, in microseconds.
    pub rtt_us: u64,
    /// `tcpi_min_rtt`, in microseconds.
    pub min_rtt_us: u64,
    /// `tcpi_total_retrans`.
    pub retransmitted: u64,
    /// `tcpi_busy_time`, in microseconds.
    pub busy_us: u64,
    /// `tcpi_rwnd_limited`, in microseconds.
    pub rwnd_limited_us: u64,
    /// `tcpi_sndbuf_limited`, in microseconds.
    pub sndbuf_limited_us: u64,
    /// `tcpi_snd_cwnd`, in segments.
    pub cwnd: u64,
    /// `tcpi_snd_mss`, in bytes.
    pub mss: u64,
}

/// A bulk transfer as the server saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bulk {
    /// Bytes that it read, or wrote.
    pub bytes: u64,
    /// From its first byte to its last.
    pub lasted_ns: u64,
    /// Its end of the connection.
    pub end: TcpEnd,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// From the client: start a session.
    Hello,
    /// The session has started. Datagrams go to this port with this token; the caps apply to each train and to all of
    /// them.
    Welcome {
        /// The session's token.
        token: Token,
        /// The server's UDP port.
        udp_port: u16,
        /// The highest rate served, in bit/s.
        rate_bit_per_s: u64,
        /// The longest train or transfer.
        duration_ns: u64,
    },
    /// The datagram with the token arrived: the return path is known.
    Opened,
    /// The request is refused, with the reason.
    Refused(String),
    /// From the client: a train is coming, or is to be sent back.
    Train {
        /// Its number.
        number: u32,
        /// Its parameters.
        train: Train,
        /// How long to wait for late packets.
        wait_ns: u64,
    },
    /// The server is ready for that train.
    Ready(u32),
    /// From the client: that train has left.
    Gone(u32),
    /// Times of that train's packets, in the order of arrival or departure.
    Stamps {
        /// The train.
        number: u32,
        /// The times, at most [`MOST_TIMES`].
        stamps: Vec<Stamp>,
    },
    /// The train has no more times.
    Finished {
        /// The train.
        number: u32,
        /// Datagrams that the server's socket had no room for in that time.
        overflowed: u32,
    },
    /// From the client, first on a connection of its own: a bulk transfer in this session.
    Transfer {
        /// The session's token.
        token: Token,
        /// The direction.
        direction: Direction,
        /// How long.
        duration_ns: u64,
    },
    /// From the client: the result of the last transfer, please.
    AskTransfer,
    /// The result of the transfer.
    Transferred(Bulk),
    /// From the client: the session ends.
    Bye,
}

/// Bytes that are not a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAMessage {
    /// Its stated length exceeds what this end reads.
    #[error("a message of {0} bytes, which is more than there can be")]
    TooLong(usize),
    /// The type is unknown, or has another length.
    #[error("message {kind} of {bytes} bytes, which is none")]
    Unknown {
        /// Its type.
        kind: u8,
        /// Its length.
        bytes: usize,
    },
    /// Not the start of a probe's first message.
    #[error("not a slowpath probe")]
    NotAProbe,
    /// A probe, but of another version.
    #[error("version {0} of the protocol; this end has {VERSION}")]
    Version(u16),
    /// A field has an impossible value.
    #[error("a field of message {0} says what it cannot")]
    Field(u8),
}

impl Message {
    fn kind(&self) -> u8 {
        match self {
            Self::Hello => 1,
            Self::Welcome { .. } => 2,
            Self::Opened => 3,
            Self::Refused(_) => 4,
            Self::Train { .. } => 5,
            Self::Ready(_) => 6,
            Self::Gone(_) => 7,
            Self::Stamps { .. } => 8,
            Self::Finished { .. } => 9,
            Self::Transfer { .. } => 10,
            Self::AskTransfer => 11,
            Self::Transferred(_) => 12,
            Self::Bye => 13,
        }
    }

    /// Appends its bytes.
    pub fn write(&self, to: &mut Vec<u8>) {
        let begin = to.len();
        to.extend([0; 4]);
        to.push(self.kind());
        match self {
            Self::Opened | Self::AskTransfer | Self::Bye => {}
            Self::Hello => {
                to.extend(MAGIC);
                to.extend(VERSION.to_be_bytes());
            }
            Self::Welcome { token, udp_port, rate_bit_per_s, duration_ns } => {
                to.extend(token);
                to.extend(udp_port.to_be_bytes());
                to.extend(rate_bit_per_s.to_be_bytes());
                to.extend(duration_ns.to_be_bytes());
            }
            Self::Refused(why) => to.extend(why.bytes().take(MOST_REASON)),
            Self::Train { number, train, wait_ns } => {
                to.extend(number.to_be_bytes());
                to.push(train.direction as u8);
                to.extend([train.packets, train.bytes, train.burst].map(u32::to_be_bytes).concat());
                to.extend([train.gap_ns, *wait_ns].map(u64::to_be_bytes).concat());
            }
            Self::Ready(number) | Self::Gone(number) => to.extend(number.to_be_bytes()),
            Self::Stamps { number, stamps } => {
                to.extend(number.to_be_bytes());
                for stamp in stamps.iter().take(MOST_TIMES) {
                    to.extend(stamp.packet.to_be_bytes());
                    to.extend(stamp.at_ns.to_be_bytes());
                }
            }
            Self::Finished { number, overflowed } => {
                to.extend([*number, *overflowed].map(u32::to_be_bytes).concat());
            }
            Self::Transfer { token, direction, duration_ns } => {
                to.extend(token);
                to.push(*direction as u8);
                to.extend(duration_ns.to_be_bytes());
            }
            Self::Transferred(bulk) => to.extend(bulk.fields().map(u64::to_be_bytes).concat()),
        }
        let length = (to.len() - begin - 4) as u32;
        to[begin..begin + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// Reads the message at the start of `bytes` and returns its length; `None` if only a part of it is there.
    ///
    /// # Errors
    /// If no message can start like this, or it is longer than `most` bytes.
    pub fn read(bytes: &[u8], most: usize) -> Result<Option<(Self, usize)>, NotAMessage> {
        let Some((length, rest)) = bytes.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length > most {
            // A client that is not a probe sends something there too.
            let is_probe = rest.get(1..9).is_none_or(|words| words == MAGIC);
            return Err(if is_probe { NotAMessage::TooLong(length) } else { NotAMessage::NotAProbe });
        }
        if length == 0 {
            return Err(NotAMessage::Unknown { kind: 0, bytes: 0 });
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let mut fields = Fields { kind: body[0], left: &body[1..], bytes: length };
        let message = Self::of(&mut fields)?;
        if !fields.left.is_empty() {
            return Err(fields.unknown());
        }
        Ok(Some((message, length + 4)))
    }

    fn of(fields: &mut Fields<'_>) -> Result<Self, NotAMessage> {
        Ok(match fields.kind {
            1 => fields.hello()?,
            2 => Self::Welcome {
                token: fields.take()?,
                udp_port: u16::from_be_bytes(fields.take()?),
                rate_bit_per_s: fields.long()?,
                duration_ns: fields.long()?,
            },
            3 => Self::Opened,
            4 => fields.reason()?,
            5 => Self::Train { number: fields.number()?, train: fields.train()?, wait_ns: fields.long()? },
            6 => Self::Ready(fields.number()?),
            7 => Self::Gone(fields.number()?),
            8 => Self::Stamps { number: fields.number()?, stamps: fields.stamps()? },
            9 => Self::Finished { number: fields.number()?, overflowed: fields.number()? },
            10 => Self::Transfer {
                token: fields.take()?,
                direction: fields.direction()?,
                duration_ns: fields.long()?,
            },
            11 => Self::AskTransfer,
            12 => Self::Transferred(fields.bulk()?),
            13 => Self::Bye,
            _ => return Err(fields.unknown()),
        })
    }
}

impl Bulk {
    fn fields(&self) -> [u64; 10] {
        let TcpEnd { rtt_us, min_rtt_us, retransmitted, busy_us, .. } = self.end;
        let TcpEnd { rwnd_limited_us, sndbuf_limited_us, cwnd, mss, .. } = self.end;
        let end = [rtt_us, min_rtt_us, retransmitted, busy_us, rwnd_limited_us, sndbuf_limited_us, cwnd, mss];
        let mut all = [self.bytes, self.lasted_ns, 0, 0, 0, 0, 0, 0, 0, 0];
        all[2..].copy_from_slice(&end);
        all
    }
}

/// The rest of a message.
struct Fields<'a> {
    kind: u8,
    left: &'a [u8],
    /// The length of the whole message.
    bytes: usize,
}

impl Fields<'_> {
    fn unknown(&self) -> NotAMessage {
        NotAMessage::Unknown { kind: self.kind, bytes: self.bytes }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], NotAMessage> {
        let (taken, left) = self.left.split_first_chunk().ok_or_else(|| self.unknown())?;
        self.left = left;
        Ok(*taken)
    }

    fn number(&mut self) -> Result<u32, NotAMessage> {
        self.take().map(u32::from_be_bytes)
    }

    fn long(&mut self) -> Result<u64, NotAMessage> {
        self.take().map(u64::from_be_bytes)
    }

    fn hello(&mut self) -> Result<Message, NotAMessage> {
        if self.take()? != MAGIC {
            return Err(NotAMessage::NotAProbe);
        }
        match u16::from_be_bytes(self.take()?) {
            VERSION => Ok(Message::Hello),
            other => Err(NotAMessage::Version(other)),
        }
    }

    fn reason(&mut self) -> Result<Message, NotAMessage> {
        let why = std::mem::take(&mut self.left);
        if why.len() > MOST_REASON {
            return Err(self.unknown());
        }
        Ok(Message::Refused(shown::line(&String::from_utf8_lossy(why)).into_owned()))
    }

    fn direction(&mut self) -> Result<Direction, NotAMessage> {
        match self.take()? {
            [0] => Ok(Direction::There),
            [1] => Ok(Direction::Back),
            _ => Err(NotAMessage::Field(self.kind)),
        }
    }

    fn train(&mut self) -> Result<Train, NotAMessage> {
        Ok(Train {
            direction: self.direction()?,
            packets: self.number()?,
            bytes: self.number()?,
            burst: self.number()?,
            gap_ns: self.long()?,
        })
    }

    fn stamps(&mut self) -> Result<Vec<Stamp>, NotAMessage> {
        let mut stamps = Vec::with_capacity((self.left.len() / 12).min(MOST_TIMES));
        while !self.left.is_empty() {
            if stamps.len() == MOST_TIMES {
                return Err(NotAMessage::Field(self.kind));
            }
            stamps.push(Stamp { packet: self.number()?, at_ns: self.long()? });
        }
        Ok(stamps)
    }

    fn bulk(&mut self) -> Result<Bulk, NotAMessage> {
        let mut next = || self.long();
        Ok(Bulk {
            bytes: next()?,
            lasted_ns: next()?,
            end: TcpEnd {
                rtt_us: next()?,
                min_rtt_us: next()?,
                retransmitted: next()?,
                busy_us: next()?,
                rwnd_limited_us: next()?,
                sndbuf_limited_us: next()?,
                cwnd: next()?,
                mss: next()?,
            },
        })
    }
}

/// The contents of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datagram {
    /// From the client: its UDP address.
    Open,
    /// From the client: a request for an echo.
    Echo {
        /// Its number.
        number: u32,
    },
    /// The echo, as long as the request.
    Reply {
        /// The number of the request.
        number: u32,
        /// How long it was at the server.
        turned_ns: u64,
    },
    /// A packet of a train.
    Load {
        /// The train.
        train: u32,
        /// Its number in the train.
        packet: u32,
    },
}

/// The length of every datagram's contents; the rest of it is zero.
pub const DATAGRAM_BYTES: usize = 36;

impl Datagram {
    /// Its bytes.
    pub fn write(self, token: &Token) -> [u8; DATAGRAM_BYTES] {
        let (kind, first, second, long) = match self {
            Self::Open => (1, 0, 0, 0),
            Self::Echo { number } => (2, number, 0, 0),
            Self::Reply { number, turned_ns } => (3, number, 0, turned_ns),
            Self::Load { train, packet } => (4, train, packet, 0),
        };
        let mut bytes = [0; DATAGRAM_BYTES];
        bytes[..16].copy_from_slice(token);
        bytes[16] = kind;
        bytes[20..24].copy_from_slice(&u32::to_be_bytes(first));
        bytes[24..28].copy_from_slice(&u32::to_be_bytes(second));
        bytes[28..36].copy_from_slice(&u64::to_be_bytes(long));
        bytes
    }

    /// Reads a datagram with the token; `None` for any other.
    pub fn read(bytes: &[u8], token: &Token) -> Option<Self> {
        let bytes = bytes.first_chunk::<DATAGRAM_BYTES>()?;
        if bytes[..16] != *token {
            return None;
        }
        let number = |at: usize| bytes[at..].first_chunk().copied().map(u32::from_be_bytes);
        let turned_ns = u64::from_be_bytes(*bytes[28..].first_chunk()?);
        Some(match bytes[16] {
            1 => Self::Open,
            2 => Self::Echo { number: number(20)? },
            3 => Self::Reply { number: number(20)?, turned_ns },
            4 => Self::Load { train: number(20)?, packet: number(24)? },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The property that the fuzz target `protocol` checks, over bytes that start like a message.
        #[test]
        fn any_bytes_are_a_message_a_part_or_an_error(
            kind in 0_u8..15,
            length in 0_u32..200,
            body in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let bytes = [&length.to_be_bytes()[..], &[kind], &body].concat();
            match Message::read(&bytes, CLIENT_BYTES) {
                Ok(Some((Message::Refused(_), used))) => prop_assert_eq!(used, length as usize + 4),
                Ok(Some((message, used))) => {
                    let mut again = Vec::new();
                    message.write(&mut again);
                    prop_assert_eq!(&again[..], &bytes[..used]);
                }
                Ok(None) => prop_assert!(bytes.len() < length as usize + 4),
                Err(_) => {}
            }
        }
    }

    fn all() -> Vec<Message> {
        let train = Train { direction: Direction::Back, packets: 100, bytes: 1500, burst: 2, gap_ns: 9 };
        let stamps = vec![Stamp { packet: 3, at_ns: u64::MAX }; 2];
        vec![
            Message::Hello,
            Message::Welcome { token: [7; 16], udp_port: 5, rate_bit_per_s: 1 << 40, duration_ns: 3 },
            Message::Opened,
            Message::Refused("no".to_owned()),
            Message::Train { number: 1, train, wait_ns: 5 },
            Message::Ready(1),
            Message::Gone(2),
            Message::Stamps { number: 4, stamps },
            Message::Finished { number: 4, overflowed: 9 },
            Message::Transfer { token: [1; 16], direction: Direction::There, duration_ns: 4 },
            Message::AskTransfer,
            Message::Transferred(Bulk {
                bytes: 5,
                lasted_ns: 6,
                end: TcpEnd { mss: 8, ..TcpEnd::default() },
            }),
            Message::Bye,
        ]
    }

    #[test]
    fn messages_round_trip_and_partial_ones_are_awaited() {
        for message in all() {
            let mut bytes = Vec::new();
            message.write(&mut bytes);
            for cut in 0..bytes.len() {
                assert_eq!(Message::read(&bytes[..cut], SERVER_BYTES), Ok(None), "{message:?} cut at {cut}");
            }
            let length = bytes.len();
            bytes.extend([0xff; 9]);
            assert_eq!(Message::read(&bytes, SERVER_BYTES), Ok(Some((message, length))));
        }
    }

    #[test]
    fn hostile_bytes_are_rejected_at_the_first_invalid_byte() {
        assert_eq!(
            Message::read(&[0, 0x10, 0, 0], CLIENT_BYTES),
            Err(NotAMessage::TooLong(1 << 20)),
            "an invalid length is enough"
        );
        assert_eq!(Message::read(b"GET / HTTP/1.1\r\n", CLIENT_BYTES), Err(NotAMessage::NotAProbe));
        let mut hello = Vec::new();
        Message::Hello.write(&mut hello);
        hello[14] = 9;
        assert_eq!(Message::read(&hello, CLIENT_BYTES), Err(NotAMessage::Version(9)));
        assert!(Message::read(&[0, 0, 0, 1, 99], CLIENT_BYTES).is_err());
        assert!(Message::read(&[0, 0, 0, 0], CLIENT_BYTES).is_err());
        assert!(Message::read(&[0, 0, 0, 2, 13, 0], CLIENT_BYTES).is_err(), "a byte too many");
        // An unknown direction.
        let mut bytes = Vec::new();
        all()[4].write(&mut bytes);
        bytes[9] = 2;
        assert_eq!(Message::read(&bytes, CLIENT_BYTES), Err(NotAMessage::Field(5)));
    }

    #[test]
    fn refusal_reason_has_no_control_characters() {
        let mut bytes = Vec::new();
        Message::Refused("\x1b[2Jno\n".to_owned()).write(&mut bytes);
        let read = Message::read(&bytes, SERVER_BYTES).expect("a message").expect("whole");
        assert_eq!(read.0, Message::Refused(r"\u{1b}[2Jno\u{a}".to_owned()));
    }

    #[test]
    fn datagram_without_the_token_is_ignored() {
        let token = [9; 16];
        for datagram in [
            Datagram::Open,
            Datagram::Echo { number: 1 },
            Datagram::Reply { number: 1, turned_ns: 7 },
            Datagram::Load { train: 3, packet: 4 },
        ] {
            let bytes = datagram.write(&token);
            assert_eq!(Datagram::read(&bytes, &token), Some(datagram));
            assert_eq!(Datagram::read(&bytes, &[8; 16]), None);
            assert_eq!(Datagram::read(&bytes[..35], &token), None);
        }
    }
}
