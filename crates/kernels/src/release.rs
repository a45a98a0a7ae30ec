//! The known releases of Linux, and the release that each derives from.

/// A known kernel: a release, or one with a paper's changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// November 2001, as weigle measured it: the last kernel with fixed buffers. Not modelled: its own loss recovery
    /// (it has that of 2.4), and that a sending process waits until no other CPU runs bottom halves
    /// (`start_bh_atomic`).
    Linux2_2_20,
    /// December 2001, as weigle measured it: before NAPI, the O(1) scheduler and receive-buffer tuning.
    Linux2_4_17,
    /// 2.4.17 with Dynamic Right-Sizing, LANL's patch (weigle).
    Linux2_4_17Drs,
    /// November 2003, as leith measured it. Nothing that is modelled changed since 2.4.17; the NIC's driver uses the
    /// CPU's backlog, whose throttle is the paper's subject, although NAPI existed.
    Linux2_4_23,
    /// 2.4.23 with the changes of leith, section 1, and H-TCP.
    Linux2_4_23Leith,
    /// October 2005, as wu measured it: NAPI, the O(1) scheduler, a preemptible kernel, the prequeue, BIC.
    Linux2_6_14,
    /// 2.6.14 with wu's change: a process with packets waiting on the prequeue or the backlog continues when its slice
    /// is over, and yields when it has processed them (section 5, listings 1 and 2).
    Linux2_6_14Wu,
    /// November 2025: today's kernel.
    Linux6_18,
}

impl Release {
    /// All kernels, oldest first.
    pub const ALL: [Self; 8] = [
        Self::Linux2_2_20,
        Self::Linux2_4_17,
        Self::Linux2_4_17Drs,
        Self::Linux2_4_23,
        Self::Linux2_4_23Leith,
        Self::Linux2_6_14,
        Self::Linux2_6_14Wu,
        Self::Linux6_18,
    ];

    /// Its name, such as `linux-6.18`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linux2_2_20 => "linux-2.2.20",
            Self::Linux2_4_17 => "linux-2.4.17",
            Self::Linux2_4_17Drs => "linux-2.4.17-drs",
            Self::Linux2_4_23 => "linux-2.4.23",
            Self::Linux2_4_23Leith => "linux-2.4.23-leith",
            Self::Linux2_6_14 => "linux-2.6.14",
            Self::Linux2_6_14Wu => "linux-2.6.14-wu",
            Self::Linux6_18 => "linux-6.18",
        }
    }

    /// The kernel that it is derived from, whose choices it has unless it declares its own.
    const fn base(self) -> Option<Self> {
        match self {
            Self::Linux2_2_20 => None,
            Self::Linux2_4_17 => Some(Self::Linux2_2_20),
            Self::Linux2_4_17Drs | Self::Linux2_4_23 => Some(Self::Linux2_4_17),
            Self::Linux2_4_23Leith | Self::Linux2_6_14 => Some(Self::Linux2_4_23),
            Self::Linux2_6_14Wu | Self::Linux6_18 => Some(Self::Linux2_6_14),
        }
    }

    /// This kernel's value of a choice: its own, or its nearest ancestor's.
    pub(crate) fn pick<T: Copy>(self, first: T, changes: &[(Self, T)]) -> T {
        let mut kernel = Some(self);
        while let Some(release) = kernel {
            if let Some((_, value)) = changes.iter().find(|(since, _)| *since == release) {
                return *value;
            }
            kernel = release.base();
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pick_returns_the_own_or_nearest_inherited_value() {
        let changes = [(Release::Linux2_4_23Leith, 'b'), (Release::Linux2_6_14, 'c')];
        let picked: String = Release::ALL.into_iter().map(|kernel| kernel.pick('a', &changes)).collect();
        assert_eq!(picked, "aaaabccc");
    }
}
