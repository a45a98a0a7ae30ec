//! A buffer step by step: from `setsockopt` to the window advertised to the peer, and to the bytes in flight.
//!
//! Nothing is computed here that a connection does not compute: a [`Connection`] is led through its handshake and as
//! many full segments as it needs, by its own functions, and read after each step. So this shows what the simulator
//! does, kernel by kernel.

use crate::choices::{ReceiveTuning, SendTuning, WindowGrowth};
use crate::connection::{Connection, State};
use crate::packet::TCP_HEADER;
use crate::receive::initial_window::scaled_for;
use crate::receive::memory::PacketMemory;
use crate::send::write::WriteFlags;
use crate::settings::Settings;
use crate::socket::SocketOption;
use crate::socket::options::SocketOptions;
use slowpath_model::Instant;
use std::sync::Arc;

/// What `setsockopt` makes of the requested value (`sk_setsockopt`, net/core/sock.c).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedBuffer {
    /// Bytes, after the limit of `rmem_max` or `wmem_max`.
    pub bounded: u32,
    /// The buffer, in bytes of memory: twice `bounded`, as half is left for overhead.
    pub kept: u32,
}

impl AskedBuffer {
    /// Limits and doubles the `int` of the system call. A negative value is a big `u32`, cut to the sysctl.
    pub fn of(value: i64, most: u32, least: u32) -> Self {
        let bounded = (value as u32).min(most);
        Self { bounded, kept: bounded.min(i32::MAX as u32 / 2).max(least / 2) * 2 }
    }
}

/// A receive buffer, step by step. All fields are bytes unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveBuffer {
    /// The result of `SO_RCVBUF`; `None` if the kernel sizes the buffer.
    pub asked: Option<AskedBuffer>,
    /// The buffer when the SYN is sent (`sk_rcvbuf`), and what `getsockopt` returns then.
    pub first: u32,
    /// See [`first`](Self::first).
    pub getsockopt: i64,
    /// The window of that whole buffer (`tcp_full_space`).
    pub first_space: u32,
    /// The clamp set by the SYN's window (`window_clamp`, `tcp_select_initial_window`).
    pub syn_clamp: u32,
    /// The window that the scale must reach, and the shift count in the SYN; `None` without the option.
    pub scale: Option<(u32, u8)>,
    /// The window of the SYN.
    pub syn_window: u32,
    /// The buffer when the connection is established (`tcp_fixup_rcvbuf`).
    pub made: u32,
    /// The window clamp then (`tcp_init_buffer_space`).
    pub made_clamp: u32,
    /// The window of the first ACK.
    pub first_window: u32,
    /// Payload of a full segment, and the memory it is charged (`truesize`).
    pub payload: u32,
    /// See [`payload`](Self::payload).
    pub truesize: u32,
    /// Payload per 256 bytes of memory, where it is measured (`scaling_ratio`): before and after.
    pub ratio: Option<[u8; 2]>,
    /// The buffer at its largest: after tuning, or because it is fixed.
    pub most: u32,
    /// The window of that whole buffer.
    pub most_space: u32,
    /// The window clamp then.
    pub most_clamp: u32,
    /// The largest window advertised to the peer, in units of the scale.
    pub most_window: u32,
    /// Full segments until then, if the reader takes each immediately.
    pub segments: u32,
    /// Payload that the largest buffer has room for, in full segments that are not merged.
    pub holds: u64,
}

/// A send buffer, step by step. All fields are bytes unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendBuffer {
    /// The result of `SO_SNDBUF`; `None` if the kernel sizes the buffer.
    pub asked: Option<AskedBuffer>,
    /// The buffer when the SYN is sent (`sk_sndbuf`), and what `getsockopt` returns then.
    pub first: u32,
    /// See [`first`](Self::first).
    pub getsockopt: i64,
    /// The buffer at its largest: after tuning, or because it is fixed.
    pub most: u32,
    /// Congestion windows that tuning makes room for; `None` for a fixed buffer.
    pub windows: Option<u32>,
    /// Payload of a full segment, and its memory in its own buffer (`truesize`).
    pub payload: u32,
    /// See [`payload`](Self::payload).
    pub truesize: u32,
    /// One-segment buffers until memory runs out, and their payload: the most in flight.
    pub buffers: u32,
    /// See [`buffers`](Self::buffers).
    pub holds: u64,
    /// Payload of a super-packet as written, and what the buffer takes of these; `None` if none are made.
    pub super_packet: Option<[u64; 2]>,
}

/// A connection that has not sent its SYN, with the option set if requested.
fn socket(settings: &Settings, option: SocketOption, asked: Option<i64>) -> Connection {
    let mut connection = Connection::new(Arc::new(settings.clone()), SocketOptions::default());
    if let Some(value) = asked {
        // These options accept any value.
        let _ = connection.setsockopt(Instant::START, option, value);
    }
    connection
}

/// Payload of a full segment, and the bytes of all headers before it.
fn segment(settings: &Settings) -> (u32, u32) {
    let options = if settings.sysctls.tcp_timestamps == 0 { 0 } else { 12 };
    let headers = settings.ip_header + TCP_HEADER + options;
    (settings.advmss(&SocketOptions::default()) - options, headers)
}

impl ReceiveBuffer {
    /// The buffer after `SO_RCVBUF` asks for `asked` bytes before the SYN; `None` asks for none. The peer scales its
    /// window too, and sends full segments charged as `memory` says.
    pub fn of(settings: &Settings, asked: Option<i64>, memory: PacketMemory) -> Self {
        let (payload, headers) = segment(settings);
        Self::of_segments(settings, asked, memory.of_segment(payload, headers))
    }

    /// The same as [`of`](Self::of), where a full segment is charged with `truesize` bytes.
    pub fn of_segments(settings: &Settings, asked: Option<i64>, truesize: u32) -> Self {
        let (payload, _) = segment(settings);
        let [least, _] = settings.choices.buffer_memory.least_buffers();
        let mut end = socket(settings, SocketOption::ReceiveBuffer, asked);
        let getsockopt = end.getsockopt(SocketOption::ReceiveBuffer);
        let (first, first_space) = (end.rcv.buffer, end.full_window());
        end.prepare_connect();
        let (syn_clamp, syn_window) = (end.rcv.window_clamp, end.rcv.wnd);
        let scales = settings.sysctls.tcp_window_scaling;
        let shift = if scales { end.rcv.offered_scale } else { 0 };
        let scale = scales.then(|| (scaled_for(settings, end.full_window(), end.unscaled_clamp()), shift));
        end.complete_handshake(payload);
        let (made, made_clamp) = (end.rcv.buffer, end.rcv.window_clamp);
        let first_window = u32::from(end.select_window()) << shift;
        let before = end.rcv.scaling_ratio;
        end.measure_scaling_ratio(payload, truesize);
        end.tune_to_the_most();
        let segments = end.arrive_until_grown(payload, truesize);
        let most_window = u32::from(end.select_window()) << shift;
        let (most, most_clamp) = (end.rcv.buffer, end.rcv.window_clamp);
        Self {
            asked: asked.map(|value| AskedBuffer::of(value, settings.sysctls.rmem_max, least)),
            first,
            getsockopt,
            first_space,
            syn_clamp,
            scale,
            syn_window,
            made,
            made_clamp,
            first_window,
            payload,
            truesize,
            ratio: end.measures_ratio().then_some([before, end.rcv.scaling_ratio]),
            most,
            most_space: end.full_window(),
            most_clamp,
            most_window,
            segments,
            holds: u64::from(most / truesize.max(1)) * u64::from(payload),
        }
    }
}

impl SendBuffer {
    /// The buffer after `SO_SNDBUF` asks for `asked` bytes; `None` asks for none.
    pub fn of(settings: &Settings, asked: Option<i64>) -> Self {
        let (payload, _) = segment(settings);
        let [_, least] = settings.choices.buffer_memory.least_buffers();
        let mut end = socket(settings, SocketOption::SendBuffer, asked);
        let getsockopt = end.getsockopt(SocketOption::SendBuffer);
        let first = end.snd.sndbuf;
        let windows = match settings.choices.send_tuning {
            SendTuning::Windows(windows) if asked.is_none() => Some(windows),
            SendTuning::Windows(_) | SendTuning::Fixed => None,
        };
        end.prepare_connect();
        end.complete_handshake(payload);
        if windows.is_some() {
            // More than any buffer has room for.
            end.snd.window.cwnd = u32::MAX / 4;
            end.expand_send_buffer();
            end.snd.window.cwnd = 10;
        }
        let most = end.snd.sndbuf;
        let truesize = settings.choices.send_head() + payload;
        // A buffer is started while any memory is left, and is then allocated whole (`sk_stream_memory_free`).
        let buffers = most.div_ceil(truesize);
        let super_packet = settings.choices.super_packets.then(|| {
            let goal = end.size_goal(payload);
            let taken = end.write(Instant::START, u32::MAX, WriteFlags::default());
            [u64::from(goal), taken.map_or(0, u64::from)]
        });
        Self {
            asked: asked.map(|value| AskedBuffer::of(value, settings.sysctls.wmem_max, least)),
            first,
            getsockopt,
            most,
            windows,
            payload,
            truesize,
            buffers,
            holds: u64::from(buffers) * u64::from(payload),
            super_packet,
        }
    }
}

impl Connection {
    /// The window of the whole buffer.
    fn full_window(&self) -> u32 {
        u32::try_from(self.rcv.full_space(&self.settings).max(0)).unwrap_or(u32::MAX)
    }

    /// The window clamp before the SYN, without the limit of the scale.
    fn unscaled_clamp(&self) -> u32 {
        if self.rcv.buffer_locked { self.full_window() } else { u32::MAX }
    }

    /// As if the peer had answered the SYN, with the same options as ours and a window that never fills.
    fn complete_handshake(&mut self, payload: u32) {
        let sysctls = &self.settings.sysctls;
        self.negotiated.timestamps = sysctls.tcp_timestamps != 0;
        self.negotiated.window_scale = sysctls.tcp_window_scaling.then_some((14, self.rcv.offered_scale));
        if !sysctls.tcp_window_scaling {
            self.rcv.window_clamp = self.rcv.window_clamp.min(65_535);
        }
        self.negotiated.mss = u16::try_from(self.rcv.advmss).unwrap_or(u16::MAX);
        self.rcv.advmss = payload;
        self.state = State::Established;
        self.snd.una = self.snd.una + 1;
        self.snd.nxt = self.snd.una;
        self.snd.write_seq = self.snd.una;
        self.snd.pushed_seq = self.snd.una;
        self.snd.wnd = 65_535 << 14;
        self.snd.max_window = self.snd.wnd;
        self.sync_mss();
        self.init_rcv_mss();
        self.init_receive_buffer(Instant::START);
    }

    /// Tunes the buffer to the size it reaches for a sender that could use any window.
    fn tune_to_the_most(&mut self) {
        let is_tuned = match self.settings.choices.receive_tuning {
            ReceiveTuning::Fixed | ReceiveTuning::Memory => false,
            ReceiveTuning::SenderWindow | ReceiveTuning::Largest => true,
            ReceiveTuning::RightSizing | ReceiveTuning::RightSizingAhead | ReceiveTuning::Growing => {
                self.settings.sysctls.tcp_moderate_rcvbuf
            }
        };
        if is_tuned && !self.rcv.buffer_locked {
            self.raise_buffer(u64::MAX);
        }
    }

    /// Receives full segments until the window stops growing; returns how many that takes.
    fn arrive_until_grown(&mut self, payload: u32, truesize: u32) -> u32 {
        self.rcv.ack.rcv_mss = payload.min(self.rcv.advmss);
        if self.settings.choices.window_growth == WindowGrowth::TwiceReceived {
            // Set by what arrives in an RTT, up to the clamp.
            self.rcv.ssthresh = self.rcv.window_clamp;
        }
        let mut segments = 0;
        loop {
            let before = self.rcv.ssthresh;
            self.grow_window(payload, truesize);
            if self.rcv.ssthresh == before {
                return segments;
            }
            segments += 1;
        }
    }
}
