//! The sysctls by their kernel names, written as the kernel writes them.

use crate::choice::NotAChoice;
use crate::profile::KernelProfile;
use crate::value::Value;
use std::time::Duration;

/// One sysctl.
#[derive(Clone, Copy, Debug)]
pub struct Sysctl {
    /// Its whole name, such as `net.ipv4.tcp_sack`.
    pub name: &'static str,
    form: fn() -> String,
    get: fn(&KernelProfile) -> String,
    set: fn(&mut KernelProfile, &str) -> bool,
}

impl Sysctl {
    /// What its values look like, to be put behind "write".
    pub fn form(&self) -> String {
        (self.form)()
    }

    /// Its value, as `sysctl -n` shows it.
    pub fn of(&self, kernel: &KernelProfile) -> String {
        (self.get)(kernel)
    }

    /// Sets it, as `sysctl -w` does.
    ///
    /// # Errors
    ///
    /// Text that is not one of its values; it is as it was.
    pub fn put(&self, kernel: &mut KernelProfile, text: &str) -> Result<(), NotAChoice> {
        if (self.set)(kernel, text) { Ok(()) } else { Err(NotAChoice { form: self.form() }) }
    }

    /// The sysctl of that name, with or without `net.ipv4.` or `net.core.` before it.
    pub fn named(name: &str) -> Option<&'static Self> {
        SYSCTLS.iter().find(|sysctl| sysctl.name == name || sysctl.short_name() == name)
    }

    /// Its name without `net.ipv4.` or `net.core.`.
    pub fn short_name(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or(self.name)
    }
}

/// The form of the values of a field, by its type.
fn form_of<T: Value>(_field: fn(&KernelProfile) -> &T) -> String {
    T::form()
}

const NANOSECOND: u128 = 1;
const MICROSECOND: u128 = 1000 * NANOSECOND;
const MILLISECOND: u128 = 1000 * MICROSECOND;
const SECOND: u128 = 1000 * MILLISECOND;

/// The time that a whole number of such units is; `None` for other text, and for more than 584 years.
fn time(text: &str, unit: u128) -> Option<Duration> {
    let nanos = u128::from(text.parse::<u64>().ok()?).checked_mul(unit)?;
    u64::try_from(nanos).ok().map(Duration::from_nanos)
}

/// Puts a value, if there is one, where it belongs.
fn put<T>(place: &mut T, value: Option<T>) -> bool {
    let is_one = value.is_some();
    if let Some(value) = value {
        *place = value;
    }
    is_one
}

/// A number, or several; a number may have a range.
macro_rules! number {
    ($name:literal, $($field:ident).+) => {
        Sysctl {
            name: $name,
            form: || form_of(|kernel| &kernel.$($field).+),
            get: |kernel| kernel.$($field).+.write(),
            set: |kernel, text| put(&mut kernel.$($field).+, Value::read(text)),
        }
    };
    ($name:literal, $($field:ident).+ in $least:literal..=$most:literal) => {
        Sysctl {
            name: $name,
            form: || concat!("a whole number from ", $least, " to ", $most).to_owned(),
            get: |kernel| kernel.$($field).+.write(),
            set: |kernel, text| {
                put(&mut kernel.$($field).+, Value::read(text).filter(|value| ($least..=$most).contains(value)))
            },
        }
    };
}

/// 0 or 1.
macro_rules! switch {
    ($name:literal, $($field:ident).+) => {
        Sysctl {
            name: $name,
            form: || "0 or 1".to_owned(),
            get: |kernel| u8::from(kernel.$($field).+).to_string(),
            set: |kernel, text| put(&mut kernel.$($field).+, matches!(text, "0" | "1").then_some(text == "1")),
        }
    };
}

/// A time, as a whole number of the unit that the kernel counts it in.
macro_rules! time {
    ($name:literal, $($field:ident).+, $unit:ident) => {
        Sysctl {
            name: $name,
            form: || concat!("a whole number of ", stringify!($unit), "s").to_lowercase(),
            get: |kernel| (kernel.$($field).+.as_nanos() / $unit).to_string(),
            set: |kernel, text| put(&mut kernel.$($field).+, time(text, $unit)),
        }
    };
}

/// All sysctls that there are here.
pub const SYSCTLS: &[Sysctl] = &[
    number!("net.ipv4.tcp_rmem", sysctls.tcp_rmem),
    number!("net.ipv4.tcp_wmem", sysctls.tcp_wmem),
    number!("net.core.rmem_max", sysctls.rmem_max),
    number!("net.core.wmem_max", sysctls.wmem_max),
    number!("net.core.somaxconn", sysctls.somaxconn),
    switch!("net.ipv4.tcp_window_scaling", sysctls.tcp_window_scaling),
    number!("net.ipv4.tcp_timestamps", sysctls.tcp_timestamps),
    switch!("net.ipv4.tcp_sack", sysctls.tcp_sack),
    switch!("net.ipv4.tcp_dsack", sysctls.tcp_dsack),
    number!("net.ipv4.tcp_ecn", sysctls.tcp_ecn),
    switch!("net.ipv4.tcp_ecn_fallback", sysctls.tcp_ecn_fallback),
    number!("net.ipv4.tcp_fastopen", sysctls.tcp_fastopen),
    switch!("net.ipv4.tcp_moderate_rcvbuf", sysctls.tcp_moderate_rcvbuf),
    number!("net.ipv4.tcp_app_win", sysctls.tcp_app_win),
    number!("net.ipv4.tcp_reordering", sysctls.tcp_reordering),
    number!("net.ipv4.tcp_max_reordering", sysctls.tcp_max_reordering),
    number!("net.ipv4.tcp_recovery", sysctls.tcp_recovery),
    number!("net.ipv4.tcp_frto", sysctls.tcp_frto),
    number!("net.ipv4.tcp_early_retrans", sysctls.tcp_early_retrans),
    number!("net.ipv4.tcp_limit_output_bytes", sysctls.tcp_limit_output_bytes),
    number!("net.ipv4.tcp_min_tso_segs", sysctls.tcp_min_tso_segs),
    number!("net.ipv4.tcp_tso_win_divisor", sysctls.tcp_tso_win_divisor),
    number!("net.ipv4.tcp_tso_rtt_log", sysctls.tcp_tso_rtt_log),
    number!("net.ipv4.tcp_pacing_ss_ratio", sysctls.tcp_pacing_ss_ratio),
    number!("net.ipv4.tcp_pacing_ca_ratio", sysctls.tcp_pacing_ca_ratio),
    switch!("net.ipv4.tcp_slow_start_after_idle", sysctls.tcp_slow_start_after_idle),
    switch!("net.ipv4.tcp_no_metrics_save", sysctls.tcp_no_metrics_save),
    switch!("net.ipv4.tcp_no_ssthresh_metrics_save", sysctls.tcp_no_ssthresh_metrics_save),
    switch!("net.ipv4.tcp_autocorking", sysctls.tcp_autocorking),
    number!("net.ipv4.tcp_syn_retries", sysctls.tcp_syn_retries),
    number!("net.ipv4.tcp_synack_retries", sysctls.tcp_synack_retries),
    number!("net.ipv4.tcp_syn_linear_timeouts", sysctls.tcp_syn_linear_timeouts),
    number!("net.ipv4.tcp_retries1", sysctls.tcp_retries1),
    number!("net.ipv4.tcp_retries2", sysctls.tcp_retries2),
    number!("net.ipv4.tcp_orphan_retries", sysctls.tcp_orphan_retries),
    number!("net.ipv4.tcp_syncookies", sysctls.tcp_syncookies),
    number!("net.ipv4.tcp_max_syn_backlog", sysctls.tcp_max_syn_backlog),
    switch!("net.ipv4.tcp_abort_on_overflow", sysctls.tcp_abort_on_overflow),
    time!("net.ipv4.tcp_fin_timeout", sysctls.tcp_fin_timeout, SECOND),
    time!("net.ipv4.tcp_keepalive_time", sysctls.tcp_keepalive_time, SECOND),
    time!("net.ipv4.tcp_keepalive_intvl", sysctls.tcp_keepalive_intvl, SECOND),
    number!("net.ipv4.tcp_keepalive_probes", sysctls.tcp_keepalive_probes),
    time!("net.ipv4.tcp_invalid_ratelimit", sysctls.tcp_invalid_ratelimit, MILLISECOND),
    number!("net.ipv4.tcp_challenge_ack_limit", sysctls.tcp_challenge_ack_limit),
    time!("net.ipv4.tcp_comp_sack_delay_ns", sysctls.tcp_comp_sack_delay, NANOSECOND),
    time!("net.ipv4.tcp_comp_sack_slack_ns", sysctls.tcp_comp_sack_slack, NANOSECOND),
    number!("net.ipv4.tcp_comp_sack_nr", sysctls.tcp_comp_sack_nr),
    time!("net.ipv4.tcp_rto_min_us", sysctls.tcp_rto_min, MICROSECOND),
    time!("net.ipv4.tcp_rto_max_ms", sysctls.tcp_rto_max, MILLISECOND),
    number!("net.ipv4.tcp_notsent_lowat", sysctls.tcp_notsent_lowat),
    switch!("net.ipv4.tcp_retrans_collapse", sysctls.tcp_retrans_collapse),
    switch!("net.ipv4.tcp_thin_linear_timeouts", sysctls.tcp_thin_linear_timeouts),
    number!("net.ipv4.tcp_base_mss", sysctls.tcp_base_mss),
    number!("net.ipv4.tcp_min_snd_mss", sysctls.tcp_min_snd_mss),
    number!("net.ipv4.tcp_mtu_probing", sysctls.tcp_mtu_probing),
    number!("net.ipv4.tcp_mtu_probe_floor", sysctls.tcp_mtu_probe_floor),
    number!("net.ipv4.tcp_probe_threshold", sysctls.tcp_probe_threshold),
    time!("net.ipv4.tcp_probe_interval", sysctls.tcp_probe_interval, SECOND),
    switch!("net.ipv4.tcp_stdurg", sysctls.tcp_stdurg),
    switch!("net.ipv4.tcp_rfc1337", sysctls.tcp_rfc1337),
    switch!("net.ipv4.tcp_workaround_signed_windows", sysctls.tcp_workaround_signed_windows),
    switch!("net.ipv4.tcp_shrink_window", sysctls.tcp_shrink_window),
    time!("net.ipv4.tcp_min_rtt_wlen", sysctls.tcp_min_rtt_wlen, SECOND),
    switch!("net.ipv4.tcp_backlog_ack_defer", sysctls.tcp_backlog_ack_defer),
    switch!("net.ipv4.tcp_reflect_tos", sysctls.tcp_reflect_tos),
    switch!("net.ipv4.tcp_migrate_req", sysctls.tcp_migrate_req),
    switch!("net.ipv4.tcp_fwmark_accept", sysctls.tcp_fwmark_accept),
    number!("net.core.netdev_max_backlog", receive.netdev_max_backlog in 1..=10_000_000),
    number!("net.core.netdev_budget", receive.netdev_budget in 1..=10_000_000),
    time!("net.core.netdev_budget_usecs", receive.netdev_budget_time, MICROSECOND),
    number!("net.core.dev_weight", receive.dev_weight in 1..=10_000_000),
    time!("net.core.busy_read", receive.busy_read, MICROSECOND),
    number!("net.core.default_qdisc", transmit.qdisc),
    number!("net.ipv4.tcp_congestion_control", tcp.congestion_control),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn linux_6_18() -> KernelProfile {
        registry::named("6.18").unwrap()
    }

    #[test]
    fn every_sysctl_of_every_kernel_is_read_back() {
        for kernel in registry::all() {
            let mut changed = linux_6_18();
            for sysctl in SYSCTLS {
                sysctl.put(&mut changed, &sysctl.of(&kernel)).unwrap();
            }
            // A field without its row would still be that of 6.18.
            assert_eq!(changed.sysctls, kernel.sysctls, "{}", kernel.name);
        }
    }

    #[test]
    fn values_are_written_as_the_kernel_writes_them() {
        let of = |name: &str| Sysctl::named(name).unwrap().of(&linux_6_18());
        assert_eq!(of("net.ipv4.tcp_rmem"), "4096 131072 33554432");
        assert_eq!(of("tcp_sack"), "1");
        assert_eq!(of("tcp_fin_timeout"), "60");
        assert_eq!(of("tcp_rto_min_us"), "200000");
        assert_eq!(of("net.ipv4.tcp_comp_sack_delay_ns"), "1000000");
        assert_eq!(of("net.ipv4.tcp_congestion_control"), "cubic");
    }

    #[test]
    fn what_is_not_a_value_changes_nothing_and_says_what_is() {
        let mut kernel = linux_6_18();
        for (name, text, form) in [
            ("tcp_sack", "yes", "0 or 1"),
            ("tcp_fin_timeout", "60 s", "a whole number of seconds"),
            ("tcp_keepalive_time", "18446744073709551615", "a whole number of seconds"),
            ("tcp_frto", "256", "a whole number from 0 to 255"),
            ("netdev_budget", "0", "a whole number from 1 to 10000000"),
        ] {
            let error = Sysctl::named(name).unwrap().put(&mut kernel, text).unwrap_err();
            assert_eq!(error.form, form);
        }
        assert_eq!(kernel, linux_6_18());
        assert!(Sysctl::named("net.ipv4.tcp_sakc").is_none());
    }
}
