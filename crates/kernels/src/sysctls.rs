//! The sysctls by their kernel names, written as the kernel writes them.

use crate::choice::NotAChoice;
use crate::value::Value;
use slowpath_tcp::sysctl::Sysctls;
use std::time::Duration;

/// One sysctl.
#[derive(Clone, Copy, Debug)]
pub struct Sysctl {
    /// Its whole name, such as `net.ipv4.tcp_sack`.
    pub name: &'static str,
    form: fn() -> String,
    get: fn(&Sysctls) -> String,
    set: fn(&mut Sysctls, &str) -> bool,
}

impl Sysctl {
    /// What its values look like, to be put behind "write".
    pub fn form(&self) -> String {
        (self.form)()
    }

    /// Its value, as `sysctl -n` shows it.
    pub fn of(&self, sysctls: &Sysctls) -> String {
        (self.get)(sysctls)
    }

    /// Sets it, as `sysctl -w` does.
    ///
    /// # Errors
    ///
    /// Text that is not one of its values; it is as it was.
    pub fn put(&self, sysctls: &mut Sysctls, text: &str) -> Result<(), NotAChoice> {
        if (self.set)(sysctls, text) { Ok(()) } else { Err(NotAChoice { form: self.form() }) }
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
fn form_of<T: Value>(_field: fn(&Sysctls) -> &T) -> String {
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

/// A number, or several.
macro_rules! number {
    ($name:literal, $field:ident) => {
        Sysctl {
            name: $name,
            form: || form_of(|sysctls| &sysctls.$field),
            get: |sysctls| sysctls.$field.write(),
            set: |sysctls, text| put(&mut sysctls.$field, Value::read(text)),
        }
    };
}

/// 0 or 1.
macro_rules! switch {
    ($name:literal, $field:ident) => {
        Sysctl {
            name: $name,
            form: || "0 or 1".to_owned(),
            get: |sysctls| u8::from(sysctls.$field).to_string(),
            set: |sysctls, text| put(&mut sysctls.$field, matches!(text, "0" | "1").then_some(text == "1")),
        }
    };
}

/// A time, as a whole number of the unit that the kernel counts it in.
macro_rules! time {
    ($name:literal, $field:ident, $unit:ident) => {
        Sysctl {
            name: $name,
            form: || concat!("a whole number of ", stringify!($unit), "s").to_lowercase(),
            get: |sysctls| (sysctls.$field.as_nanos() / $unit).to_string(),
            set: |sysctls, text| put(&mut sysctls.$field, time(text, $unit)),
        }
    };
}

/// All sysctls that TCP reads here.
pub const SYSCTLS: &[Sysctl] = &[
    number!("net.ipv4.tcp_rmem", tcp_rmem),
    number!("net.ipv4.tcp_wmem", tcp_wmem),
    number!("net.core.rmem_max", rmem_max),
    number!("net.core.wmem_max", wmem_max),
    number!("net.core.somaxconn", somaxconn),
    switch!("net.ipv4.tcp_window_scaling", tcp_window_scaling),
    number!("net.ipv4.tcp_timestamps", tcp_timestamps),
    switch!("net.ipv4.tcp_sack", tcp_sack),
    switch!("net.ipv4.tcp_dsack", tcp_dsack),
    number!("net.ipv4.tcp_ecn", tcp_ecn),
    switch!("net.ipv4.tcp_ecn_fallback", tcp_ecn_fallback),
    number!("net.ipv4.tcp_fastopen", tcp_fastopen),
    switch!("net.ipv4.tcp_moderate_rcvbuf", tcp_moderate_rcvbuf),
    number!("net.ipv4.tcp_app_win", tcp_app_win),
    number!("net.ipv4.tcp_reordering", tcp_reordering),
    number!("net.ipv4.tcp_max_reordering", tcp_max_reordering),
    number!("net.ipv4.tcp_recovery", tcp_recovery),
    number!("net.ipv4.tcp_frto", tcp_frto),
    number!("net.ipv4.tcp_early_retrans", tcp_early_retrans),
    number!("net.ipv4.tcp_limit_output_bytes", tcp_limit_output_bytes),
    number!("net.ipv4.tcp_min_tso_segs", tcp_min_tso_segs),
    number!("net.ipv4.tcp_tso_win_divisor", tcp_tso_win_divisor),
    number!("net.ipv4.tcp_tso_rtt_log", tcp_tso_rtt_log),
    number!("net.ipv4.tcp_pacing_ss_ratio", tcp_pacing_ss_ratio),
    number!("net.ipv4.tcp_pacing_ca_ratio", tcp_pacing_ca_ratio),
    switch!("net.ipv4.tcp_slow_start_after_idle", tcp_slow_start_after_idle),
    switch!("net.ipv4.tcp_no_metrics_save", tcp_no_metrics_save),
    switch!("net.ipv4.tcp_no_ssthresh_metrics_save", tcp_no_ssthresh_metrics_save),
    switch!("net.ipv4.tcp_autocorking", tcp_autocorking),
    number!("net.ipv4.tcp_syn_retries", tcp_syn_retries),
    number!("net.ipv4.tcp_synack_retries", tcp_synack_retries),
    number!("net.ipv4.tcp_syn_linear_timeouts", tcp_syn_linear_timeouts),
    number!("net.ipv4.tcp_retries1", tcp_retries1),
    number!("net.ipv4.tcp_retries2", tcp_retries2),
    number!("net.ipv4.tcp_orphan_retries", tcp_orphan_retries),
    number!("net.ipv4.tcp_syncookies", tcp_syncookies),
    number!("net.ipv4.tcp_max_syn_backlog", tcp_max_syn_backlog),
    switch!("net.ipv4.tcp_abort_on_overflow", tcp_abort_on_overflow),
    time!("net.ipv4.tcp_fin_timeout", tcp_fin_timeout, SECOND),
    time!("net.ipv4.tcp_keepalive_time", tcp_keepalive_time, SECOND),
    time!("net.ipv4.tcp_keepalive_intvl", tcp_keepalive_intvl, SECOND),
    number!("net.ipv4.tcp_keepalive_probes", tcp_keepalive_probes),
    time!("net.ipv4.tcp_invalid_ratelimit", tcp_invalid_ratelimit, MILLISECOND),
    number!("net.ipv4.tcp_challenge_ack_limit", tcp_challenge_ack_limit),
    time!("net.ipv4.tcp_comp_sack_delay_ns", tcp_comp_sack_delay, NANOSECOND),
    time!("net.ipv4.tcp_comp_sack_slack_ns", tcp_comp_sack_slack, NANOSECOND),
    number!("net.ipv4.tcp_comp_sack_nr", tcp_comp_sack_nr),
    time!("net.ipv4.tcp_rto_min_us", tcp_rto_min, MICROSECOND),
    time!("net.ipv4.tcp_rto_max_ms", tcp_rto_max, MILLISECOND),
    number!("net.ipv4.tcp_notsent_lowat", tcp_notsent_lowat),
    switch!("net.ipv4.tcp_retrans_collapse", tcp_retrans_collapse),
    switch!("net.ipv4.tcp_thin_linear_timeouts", tcp_thin_linear_timeouts),
    number!("net.ipv4.tcp_base_mss", tcp_base_mss),
    number!("net.ipv4.tcp_min_snd_mss", tcp_min_snd_mss),
    number!("net.ipv4.tcp_mtu_probing", tcp_mtu_probing),
    switch!("net.ipv4.tcp_stdurg", tcp_stdurg),
    switch!("net.ipv4.tcp_rfc1337", tcp_rfc1337),
    switch!("net.ipv4.tcp_workaround_signed_windows", tcp_workaround_signed_windows),
    switch!("net.ipv4.tcp_shrink_window", tcp_shrink_window),
    time!("net.ipv4.tcp_min_rtt_wlen", tcp_min_rtt_wlen, SECOND),
    switch!("net.ipv4.tcp_backlog_ack_defer", tcp_backlog_ack_defer),
    switch!("net.ipv4.tcp_reflect_tos", tcp_reflect_tos),
    switch!("net.ipv4.tcp_migrate_req", tcp_migrate_req),
    switch!("net.ipv4.tcp_fwmark_accept", tcp_fwmark_accept),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn every_sysctl_of_every_kernel_is_read_back() {
        for kernel in registry::all() {
            let mut changed = Sysctls::LINUX_6_18;
            for sysctl in SYSCTLS {
                sysctl.put(&mut changed, &sysctl.of(&kernel.sysctls)).unwrap();
            }
            // A field without its row would still be that of 6.18.
            assert_eq!(changed, kernel.sysctls, "{}", kernel.name);
        }
    }

    #[test]
    fn values_are_written_as_the_kernel_writes_them() {
        let of = |name: &str| Sysctl::named(name).unwrap().of(&Sysctls::LINUX_6_18);
        assert_eq!(of("net.ipv4.tcp_rmem"), "4096 131072 33554432");
        assert_eq!(of("tcp_sack"), "1");
        assert_eq!(of("tcp_fin_timeout"), "60");
        assert_eq!(of("tcp_rto_min_us"), "200000");
        assert_eq!(of("net.ipv4.tcp_comp_sack_delay_ns"), "1000000");
    }

    #[test]
    fn what_is_not_a_value_changes_nothing_and_says_what_is() {
        let mut sysctls = Sysctls::LINUX_6_18;
        for (name, text, form) in [
            ("tcp_sack", "yes", "0 or 1"),
            ("tcp_fin_timeout", "60 s", "a whole number of seconds"),
            ("tcp_keepalive_time", "18446744073709551615", "a whole number of seconds"),
            ("tcp_frto", "256", "a whole number from 0 to 255"),
        ] {
            let error = Sysctl::named(name).unwrap().put(&mut sysctls, text).unwrap_err();
            assert_eq!(error.form, form);
        }
        assert_eq!(sysctls, Sysctls::LINUX_6_18);
        assert!(Sysctl::named("net.ipv4.tcp_sakc").is_none());
    }
}
