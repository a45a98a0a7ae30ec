//! `setsockopt` and `getsockopt` (`do_tcp_setsockopt`, `sk_setsockopt`; net/ipv4/tcp.c, net/core/sock.c, 6.18).

use super::Listener;
use super::fast_open::CLIENT_ENABLE;
use super::options::{Linger2, SocketOption, SocketOptions};
use crate::buffers::AskedBuffer;
use crate::connection::{Connection, State};
use crate::errno::Errno;
use crate::settings::Settings;
use crate::sysctl::MIN_RECEIVE_BUFFER;
use slowpath_model::Instant;
use std::time::Duration;

/// `MAX_TCP_KEEPIDLE`, `MAX_TCP_KEEPINTVL` (include/net/tcp.h), in seconds.
const MAX_KEEP_SECONDS: i64 = 32_767;
/// `MAX_TCP_KEEPCNT`, `MAX_TCP_SYNCNT`.
const MAX_COUNT: i64 = 127;
/// `TCP_MIN_MSS` and `MAX_TCP_WINDOW`: the range of `TCP_MAXSEG`.
const MAX_SEG: (i64, i64) = (88, 32_767);
/// `TCP_FIN_TIMEOUT_MAX`.
const MAX_LINGER2: i64 = 120;
/// `TCP_DELACK_MAX`, `TCP_RTO_MIN`: they can only be lowered from this.
const MAX_TIMER: Duration = Duration::from_millis(200);
/// `TCP_RTO_MAX_SEC`, in milliseconds.
const MAX_RTO_MS: i64 = 120_000;

/// A value in a range, or `EINVAL`.
fn within(value: i64, least: i64, most: i64) -> Result<i64, Errno> {
    if (least..=most).contains(&value) { Ok(value) } else { Err(Errno::EINVAL) }
}

/// The value as a `u32`: a non-negative `int` of the system call, or `EINVAL`.
fn unsigned(value: i64) -> Result<u32, Errno> {
    u32::try_from(within(value, 0, i64::from(i32::MAX))?).map_err(|_| Errno::EINVAL)
}

fn seconds(value: i64, most: i64) -> Result<Duration, Errno> {
    Ok(Duration::from_secs(within(value, 1, most)?.unsigned_abs()))
}

fn count(value: i64) -> Result<u8, Errno> {
    u8::try_from(within(value, 1, MAX_COUNT)?).map_err(|_| Errno::EINVAL)
}

impl SocketOptions {
    /// Stores an option, as far as that needs no connection. [`Connection::setsockopt`] applies it to a connection.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a value out of range, `ENOPROTOOPT` for a read-only option, `EPERM` and `EOPNOTSUPP` as in the
    /// kernel.
    fn set(&mut self, option: SocketOption, value: i64, settings: &Settings) -> Result<(), Errno> {
        if self.set_timing(option, value, settings)? || self.set_buffer(option, value, settings)? {
            return Ok(());
        }
        let on = value != 0;
        match option {
            SocketOption::NoDelay => self.nodelay = on,
            SocketOption::Cork => self.cork = on,
            SocketOption::KeepAlive => self.keepalive = on,
            SocketOption::ReuseAddress => self.reuse_address = on,
            SocketOption::ReusePort => self.reuse_port = on,
            SocketOption::OobInline => self.oob_inline = on,
            SocketOption::ReceiveErrors => self.receive_errors = on,
            SocketOption::Inq => self.inq = within(value, 0, 1)? == 1,
            SocketOption::SaveSyn => self.save_syn = within(value, 0, 2)? != 0,
            SocketOption::ThinLinearTimeouts => self.thin_linear_timeouts = within(value, 0, 1)? == 1,
            SocketOption::FastOpenNoCookie => self.fast_open_no_cookie = within(value, 0, 1)? == 1,
            SocketOption::FastOpenConnect => {
                let wanted = within(value, 0, 1)? == 1;
                if settings.sysctls.tcp_fastopen & CLIENT_ENABLE == 0 {
                    return Err(Errno::EOPNOTSUPP);
                }
                self.fast_open_connect = wanted;
            }
            SocketOption::FastOpen => self.fast_open_queue = unsigned(value)?.min(settings.sysctls.somaxconn),
            SocketOption::MaxSeg => {
                self.max_seg =
                    if on { u16::try_from(within(value, MAX_SEG.0, MAX_SEG.1)?).ok() } else { None };
            }
            SocketOption::NotSentLowAt => self.notsent_lowat = Some(value as u32),
            SocketOption::MaxPacingRate => {
                self.max_pacing_rate = u64::try_from(value).unwrap_or(u64::MAX);
            }
            SocketOption::QuickAck => {}
            _ => return Err(Errno::ENOPROTOOPT),
        }
        Ok(())
    }

    /// Options that are times and counts; returns whether `option` is one.
    fn set_timing(&mut self, option: SocketOption, value: i64, settings: &Settings) -> Result<bool, Errno> {
        let timer = |value: i64| {
            let time = Duration::from_micros(u64::from(unsigned(value)?));
            let ticks = settings.choices.clock.ticks(time);
            // TCP_TIMEOUT_MIN: two ticks.
            if time > MAX_TIMER || ticks < 2 { Err(Errno::EINVAL) } else { Ok(time) }
        };
        match option {
            SocketOption::KeepIdle => self.keepalive_time = Some(seconds(value, MAX_KEEP_SECONDS)?),
            SocketOption::KeepInterval => self.keepalive_interval = Some(seconds(value, MAX_KEEP_SECONDS)?),
            SocketOption::KeepCount => self.keepalive_probes = Some(count(value)?),
            SocketOption::SynCount => self.syn_count = Some(count(value)?),
            SocketOption::Linger2 => {
                self.linger2 = match value {
                    ..0 => Linger2::Never,
                    _ => Linger2::For(Duration::from_secs(value.min(MAX_LINGER2).unsigned_abs())),
                }
            }
            SocketOption::Linger => {
                self.linger = u64::try_from(value).ok().map(Duration::from_secs);
            }
            SocketOption::DeferAccept => self.defer_accept = seconds_to_retries(value, settings),
            SocketOption::UserTimeout => {
                let time = u64::from(unsigned(value)?);
                self.user_timeout = (time != 0).then(|| Duration::from_millis(time));
            }
            SocketOption::RtoMaxMs => {
                let time = within(value, 1000, MAX_RTO_MS)?.unsigned_abs();
                self.rto_max = Some(Duration::from_millis(time));
            }
            SocketOption::RtoMinUs => self.rto_min = Some(timer(value)?),
            SocketOption::DelackMaxUs => self.delack_max = Some(timer(value)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Options that are amounts of memory; returns whether `option` is one.
    fn set_buffer(&mut self, option: SocketOption, value: i64, settings: &Settings) -> Result<bool, Errno> {
        let [least_receive, least_send] = settings.choices.buffer_memory.least_buffers();
        match option {
            SocketOption::SendBuffer => {
                self.send_buffer = Some(AskedBuffer::of(value, settings.sysctls.wmem_max, least_send).kept);
            }
            SocketOption::ReceiveBuffer => {
                self.receive_buffer =
                    Some(AskedBuffer::of(value, settings.sysctls.rmem_max, least_receive).kept);
            }
            SocketOption::ReceiveLowAt => {
                let wanted = if value < 0 { i32::MAX as u32 } else { value as u32 };
                let buffer = self.receive_buffer.unwrap_or(settings.sysctls.tcp_rmem.max);
                self.receive_lowat = wanted.min(buffer >> 1).max(1);
            }
            SocketOption::WindowClamp => {
                let clamp = unsigned(value)?;
                self.window_clamp = if clamp == 0 { 0 } else { clamp.max(MIN_RECEIVE_BUFFER / 2) };
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The number of SYN-ACKs sent in `seconds` (`secs_to_retrans`).
fn seconds_to_retries(seconds: i64, settings: &Settings) -> u8 {
    let first = i64::try_from(settings.choices.initial_rto.as_secs()).unwrap_or(1).max(1);
    let most = i64::try_from(settings.sysctls.tcp_rto_max.as_secs()).unwrap_or(120);
    if seconds <= 0 {
        return 0;
    }
    let (mut retries, mut period, mut timeout) = (1_u8, first, first);
    while seconds > period && retries < 255 {
        retries += 1;
        timeout = (timeout << 1).min(most);
        period += timeout;
    }
    retries
}

/// The seconds in which `retries` SYN-ACKs are sent (`retrans_to_secs`).
fn retries_to_seconds(retries: u8, settings: &Settings) -> i64 {
    let first = i64::try_from(settings.choices.initial_rto.as_secs()).unwrap_or(1).max(1);
    let most = i64::try_from(settings.sysctls.tcp_rto_max.as_secs()).unwrap_or(120);
    let (mut period, mut timeout) = (0, first);
    for _ in 0..retries {
        period += timeout;
        timeout = (timeout << 1).min(most);
    }
    period
}

impl Connection {
    /// Sets an option of the socket (`setsockopt`).
    ///
    /// # Errors
    ///
    /// `EINVAL` for a value out of range, `ENOPROTOOPT` for a read-only option, `EOPNOTSUPP` for what the host's
    /// settings disable.
    pub fn setsockopt(&mut self, now: Instant, option: SocketOption, value: i64) -> Result<(), Errno> {
        let closed = self.state == State::Closed;
        match option {
            SocketOption::WindowClamp if value == 0 && !closed => return Err(Errno::EINVAL),
            SocketOption::FastOpen | SocketOption::FastOpenConnect if !closed => return Err(Errno::EINVAL),
            _ => {}
        }
        let settings = self.settings.clone();
        self.options.set(option, value, &settings)?;
        self.apply(now, option, value);
        Ok(())
    }

    /// Applies an option that takes effect immediately.
    fn apply(&mut self, now: Instant, option: SocketOption, value: i64) {
        match option {
            SocketOption::NoDelay if self.options.nodelay => self.push_uncorked(now),
            SocketOption::Cork if !self.options.cork => self.push_uncorked(now),
            SocketOption::KeepAlive => self.apply_keepalive(now),
            SocketOption::KeepIdle if self.options.keepalive && self.is_alive() => {
                let left = self.keepalive_time().saturating_sub(self.idle_for(now));
                self.reset_keepalive_timer(now, left);
            }
            SocketOption::QuickAck => self.set_quickack(now, value),
            SocketOption::WindowClamp if value == 0 => self.rcv.window_clamp = 0,
            SocketOption::WindowClamp => self.rcv.set_window_clamp(self.options.window_clamp),
            SocketOption::ReceiveBuffer => {
                self.rcv.buffer = self.options.receive_buffer.unwrap_or(self.rcv.buffer);
                self.rcv.buffer_locked = true;
            }
            SocketOption::SendBuffer => {
                self.snd.sndbuf = self.options.send_buffer.unwrap_or(self.snd.sndbuf);
                self.wakeups.writable |= self.is_writable();
            }
            SocketOption::ReceiveLowAt => self.apply_receive_lowat(),
            SocketOption::NotSentLowAt => self.wakeups.writable |= self.is_writable(),
            SocketOption::MaxSeg if self.state == State::Closed => {
                self.rcv.advmss = self.settings.advmss(&self.options);
            }
            _ => {}
        }
    }

    fn is_alive(&self) -> bool {
        !matches!(self.state, State::Closed | State::TimeWait)
    }

    /// Sends waiting data, whatever its size (`TCP_NAGLE_PUSH`).
    fn push_uncorked(&mut self, now: Instant) {
        if self.is_alive() {
            self.push_now(now);
        }
    }

    /// `tcp_set_keepalive`.
    fn apply_keepalive(&mut self, now: Instant) {
        if !self.is_alive() || self.orphaned {
            return;
        }
        if !self.options.keepalive {
            self.timers.keepalive = None;
        } else if self.timers.keepalive.is_none() {
            self.reset_keepalive_timer(now, self.keepalive_time());
        }
    }

    /// `__tcp_sock_set_quickack`: 0 delays ACKs, 1 does not, and an even number applies only once.
    fn set_quickack(&mut self, now: Instant, value: i64) {
        if value == 0 {
            self.enter_pingpong_mode();
            return;
        }
        self.exit_pingpong_mode();
        if matches!(self.state, State::Established | State::CloseWait) && self.rcv.ack.pending.scheduled {
            self.rcv.ack.pending.pushed = true;
            self.cleanup_rbuf(now, 1);
            if value & 1 == 0 {
                self.enter_pingpong_mode();
            }
        }
    }

    /// `tcp_set_rcvlowat`: the buffer must hold that many bytes.
    fn apply_receive_lowat(&mut self) {
        let wanted = self.options.receive_lowat;
        if self.is_readable() {
            self.wakeups.readable = true;
        }
        if self.rcv.buffer_locked {
            return;
        }
        let space = u32::try_from(self.rcv.space_for(u64::from(wanted))).unwrap_or(u32::MAX);
        if space > self.rcv.buffer {
            self.rcv.buffer = space;
            if self.rcv.window_clamp != 0 {
                self.rcv.window_clamp = self.rcv.window_clamp.max(wanted);
            }
        }
    }

    /// Reads an option of the socket (`getsockopt`). Reading `SO_ERROR` clears it.
    pub fn getsockopt(&mut self, option: SocketOption) -> i64 {
        match option {
            SocketOption::Error => {
                let error = self.error.take().or_else(|| self.soft_error.take());
                error.map_or(0, |error| i64::from(error.number()))
            }
            SocketOption::SendBuffer => i64::from(self.snd.sndbuf),
            SocketOption::ReceiveBuffer => i64::from(self.rcv.buffer),
            SocketOption::WindowClamp => i64::from(self.rcv.window_clamp),
            SocketOption::QuickAck => i64::from(!self.in_pingpong_mode()),
            SocketOption::MaxSeg => match self.options.max_seg {
                Some(user) if self.state == State::Closed => i64::from(user),
                _ => i64::from(self.snd.mss),
            },
            _ => self.options.get(option, &self.settings),
        }
    }
}

impl Listener {
    /// Sets an option that future connections inherit.
    ///
    /// # Errors
    ///
    /// As [`Connection::setsockopt`].
    pub fn setsockopt(&mut self, option: SocketOption, value: i64) -> Result<(), Errno> {
        let settings = self.shared_settings();
        self.options_mut().set(option, value, &settings)
    }

    /// Reads an option.
    pub fn getsockopt(&self, option: SocketOption) -> i64 {
        let options = self.options();
        let sysctls = &self.settings().sysctls;
        match option {
            SocketOption::SendBuffer => i64::from(options.send_buffer.unwrap_or(sysctls.tcp_wmem.default)),
            SocketOption::ReceiveBuffer => {
                i64::from(options.receive_buffer.unwrap_or(sysctls.tcp_rmem.default))
            }
            SocketOption::WindowClamp => i64::from(options.window_clamp),
            SocketOption::QuickAck => 1,
            SocketOption::MaxSeg => i64::from(options.max_seg.unwrap_or(536)),
            _ => options.get(option, self.settings()),
        }
    }
}

impl SocketOptions {
    /// The value of an option as `getsockopt` returns it, if it needs no connection; otherwise 0.
    fn get(&self, option: SocketOption, settings: &Settings) -> i64 {
        let sysctls = &settings.sysctls;
        let seconds = |own: Option<Duration>, default: Duration| own.unwrap_or(default).as_secs() as i64;
        let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        match option {
            SocketOption::NoDelay => i64::from(self.nodelay),
            SocketOption::Cork => i64::from(self.cork),
            SocketOption::KeepAlive => i64::from(self.keepalive),
            SocketOption::ReuseAddress => i64::from(self.reuse_address),
            SocketOption::ReusePort => i64::from(self.reuse_port),
            SocketOption::OobInline => i64::from(self.oob_inline),
            SocketOption::ReceiveErrors => i64::from(self.receive_errors),
            SocketOption::Inq => i64::from(self.inq),
            SocketOption::SaveSyn => i64::from(self.save_syn),
            SocketOption::ThinLinearTimeouts => i64::from(self.thin_linear_timeouts),
            SocketOption::FastOpen => i64::from(self.fast_open_queue),
            SocketOption::FastOpenConnect => i64::from(self.fast_open_connect),
            SocketOption::FastOpenNoCookie => i64::from(self.fast_open_no_cookie),
            SocketOption::ReceiveLowAt => i64::from(self.receive_lowat),
            SocketOption::NotSentLowAt => i64::from(self.notsent_lowat.unwrap_or(0)),
            SocketOption::MaxPacingRate => i64::try_from(self.max_pacing_rate).unwrap_or(-1),
            SocketOption::KeepIdle => seconds(self.keepalive_time, sysctls.tcp_keepalive_time),
            SocketOption::KeepInterval => seconds(self.keepalive_interval, sysctls.tcp_keepalive_intvl),
            SocketOption::KeepCount => {
                i64::from(self.keepalive_probes.unwrap_or(sysctls.tcp_keepalive_probes))
            }
            SocketOption::SynCount => i64::from(self.syn_count.unwrap_or(sysctls.tcp_syn_retries)),
            SocketOption::Linger2 => match self.linger2 {
                Linger2::Never => -1,
                Linger2::For(time) if !time.is_zero() => time.as_secs() as i64,
                _ => sysctls.tcp_fin_timeout.as_secs() as i64,
            },
            SocketOption::Linger => self.linger.map_or(-1, |time| time.as_secs() as i64),
            SocketOption::DeferAccept => retries_to_seconds(self.defer_accept, settings),
            SocketOption::UserTimeout => {
                self.user_timeout.map_or(0, |time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
            }
            SocketOption::RtoMaxMs => micros(self.rto_max.unwrap_or(sysctls.tcp_rto_max)) / 1000,
            SocketOption::RtoMinUs => micros(self.rto_min.unwrap_or(sysctls.tcp_rto_min)),
            SocketOption::DelackMaxUs => micros(self.delack_max.unwrap_or(MAX_TIMER)),
            SocketOption::Error
            | SocketOption::SendBuffer
            | SocketOption::ReceiveBuffer
            | SocketOption::WindowClamp
            | SocketOption::QuickAck
            | SocketOption::MaxSeg => 0,
        }
    }
}
