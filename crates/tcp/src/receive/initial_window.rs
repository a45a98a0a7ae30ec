//! The initial window and the offered window scale (`tcp_select_initial_window`, net/ipv4/tcp_output.c, 6.18).

use crate::choices::{FirstWindow, WindowScale};
use crate::settings::Settings;

/// `TCP_MAX_WSCALE` (include/net/tcp.h; RFC 7323, section 2.3).
pub(crate) const MAX_WINDOW_SCALE: u8 = 14;
/// `MAX_TCP_WINDOW`: the most that stacks with a signed window field understand.
pub(super) const MAX_SIGNED_WINDOW: u32 = 32_767;

/// The initial receive window (`tcp_select_initial_window`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InitialReceiveWindow {
    /// The first window, in bytes.
    pub window: u32,
    /// The maximum it may reach.
    pub clamp: u32,
    /// The shift count that the SYN offers; 0 without the option.
    pub scale: u8,
}

/// Chooses the first window and the scale (`tcp_select_initial_window`).
///
/// `space` is the window of the whole buffer, `mss` a segment's payload, `clamp` the limit so far (0: none).
pub(crate) fn initial_window(
    settings: &Settings,
    space: u32,
    mss: u32,
    clamp: u32,
    scaling: bool,
) -> InitialReceiveWindow {
    let sysctls = &settings.sysctls;
    let clamp = if clamp == 0 { 65_535 << MAX_WINDOW_SCALE } else { clamp };
    let mut space = space.min(clamp);
    if mss > 0 && space > mss {
        space -= space % mss;
    }
    let first = settings.choices.first_window;
    let is_signed =
        sysctls.tcp_workaround_signed_windows || matches!(first, FirstWindow::Signed | FirstWindow::Rfc2414);
    let window = match first {
        _ if is_signed => space.min(MAX_SIGNED_WINDOW),
        FirstWindow::Field => space.min(u16::MAX.into()),
        _ => space,
    };
    let scale = if scaling {
        let largest = scaled_for(settings, space, clamp);
        // At most 31 - 15, so the cast is lossless.
        (largest.checked_ilog2().unwrap_or(0).saturating_sub(15) as u8).min(MAX_WINDOW_SCALE)
    } else {
        0
    };
    let window = match first {
        FirstWindow::Rfc2414 if mss > 1 << scale => window.min(segments_of_rfc_2414(mss).saturating_mul(mss)),
        FirstWindow::TwentySegments if mss > 1 << scale && settings.route.initrwnd.is_none() => {
            window.min(twenty_segments(mss).saturating_mul(mss))
        }
        _ => window,
    };
    let of_route = settings.route.initrwnd.map_or(u32::MAX, |segments| segments.saturating_mul(mss));
    let window = window.min(of_route);
    InitialReceiveWindow { window, clamp: clamp.min(65_535 << scale), scale }
}

/// The window that the scale must reach, if the buffer's window is `space` and the limit is `clamp`.
pub(crate) fn scaled_for(settings: &Settings, space: u32, clamp: u32) -> u32 {
    let sysctls = &settings.sysctls;
    match settings.choices.window_scale {
        WindowScale::FirstBuffer => space,
        WindowScale::LargestBuffer => space.max(sysctls.tcp_rmem.max).max(sysctls.rmem_max).min(clamp),
    }
}

/// Twice `TCP_INIT_CWND` segments, or fewer larger ones (`tcp_default_init_rwnd`, 3.13 to 4.19).
pub(super) const fn twenty_segments(mss: u32) -> u32 {
    const SEGMENTS: u32 = 20;
    const USUAL: u32 = 1460;
    match mss {
        0..=USUAL => SEGMENTS,
        _ if USUAL * SEGMENTS / mss < 2 => 2,
        _ => USUAL * SEGMENTS / mss,
    }
}

/// The initial window in segments (RFC 2414, as `tcp_select_initial_window` has it).
const fn segments_of_rfc_2414(mss: u32) -> u32 {
    match mss {
        0..=1460 => 4,
        1461..=4380 => 3,
        _ => 2,
    }
}
