//! The capabilities of a thread, as `/proc/thread-self/status` has them (capabilities(7)).

/// Configures the network.
pub const CAP_NET_ADMIN: u32 = 12;
/// Enters namespaces, among much else.
pub const CAP_SYS_ADMIN: u32 = 21;
/// Changes how processes of others are scheduled.
pub const CAP_SYS_NICE: u32 = 23;
/// Measures performance (since 5.8).
pub const CAP_PERFMON: u32 = 38;

/// A set of capabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities(u64);

impl Capabilities {
    /// The effective set that a status file states; `None` if it does not.
    pub fn effective(status: &str) -> Option<Self> {
        let hex = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
        u64::from_str_radix(hex.trim(), 16).ok().map(Self)
    }

    /// Whether a capability is in the set.
    pub const fn has(self, capability: u32) -> bool {
        self.0 >> capability & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_read_from_the_effective_set() {
        let has = |hex: &str, capability| {
            let status = format!("CapPrm:\t000001ffffffffff\nCapEff:\t{hex}\n");
            Capabilities::effective(&status).map(|set| set.has(capability))
        };
        assert_eq!(has("000001ffffffffff", CAP_NET_ADMIN), Some(true));
        assert_eq!(has("0000004000000000", CAP_PERFMON), Some(true));
        assert_eq!(has("0000000000200000", CAP_SYS_ADMIN), Some(true));
        assert_eq!(has("0000000000003000", CAP_SYS_ADMIN), Some(false));
        assert_eq!(Capabilities::effective("Name:\tx\n"), None);
    }
}
