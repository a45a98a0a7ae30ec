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
    /// August 2018, as released (as are all kernels below without another name): RACK detects losses, SACKs are
    /// compressed.
    Linux4_18,
    /// The kernel of RHEL 8: 4.18 with backports. Which of them it has is not known choice by choice: see the page on
    /// kernels.
    Linux4_18El8,
    /// August 2021.
    Linux5_14,
    /// The kernel of RHEL 9: 5.14 with backports.
    Linux5_14El9,
    /// October 2021: Ubuntu 22.04's.
    Linux5_15,
    /// December 2022: Debian 12's.
    Linux6_1,
    /// October 2023: measured window scaling, EEVDF.
    Linux6_6,
    /// March 2024: Ubuntu 24.04's.
    Linux6_8,
    /// November 2024: Debian 13's.
    Linux6_12,
    /// XanMod's long-term kernel of 2025: 6.12 with BBR v3 (pkgs/os-specific/linux/kernel/xanmod-kernels.nix of nixpkgs has
    /// its configuration). Its scheduler and other patches are not modelled.
    Linux6_12Xanmod,
    /// November 2025: today's kernel.
    Linux6_18,
}

impl Release {
    /// All kernels, oldest first.
    pub const ALL: [Self; 18] = [
        Self::Linux2_2_20,
        Self::Linux2_4_17,
        Self::Linux2_4_17Drs,
        Self::Linux2_4_23,
        Self::Linux2_4_23Leith,
        Self::Linux2_6_14,
        Self::Linux2_6_14Wu,
        Self::Linux4_18,
        Self::Linux4_18El8,
        Self::Linux5_14,
        Self::Linux5_14El9,
        Self::Linux5_15,
        Self::Linux6_1,
        Self::Linux6_6,
        Self::Linux6_8,
        Self::Linux6_12,
        Self::Linux6_12Xanmod,
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
            Self::Linux4_18 => "linux-4.18",
            Self::Linux4_18El8 => "linux-4.18-el8",
            Self::Linux5_14 => "linux-5.14",
            Self::Linux5_14El9 => "linux-5.14-el9",
            Self::Linux5_15 => "linux-5.15",
            Self::Linux6_1 => "linux-6.1",
            Self::Linux6_6 => "linux-6.6",
            Self::Linux6_8 => "linux-6.8",
            Self::Linux6_12 => "linux-6.12",
            Self::Linux6_12Xanmod => "linux-6.12-xanmod",
            Self::Linux6_18 => "linux-6.18",
        }
    }

    /// The kernel that it is derived from, whose choices it has unless it declares its own.
    pub(crate) const fn base(self) -> Option<Self> {
        match self {
            Self::Linux2_2_20 => None,
            Self::Linux2_4_17 => Some(Self::Linux2_2_20),
            Self::Linux2_4_17Drs | Self::Linux2_4_23 => Some(Self::Linux2_4_17),
            Self::Linux2_4_23Leith | Self::Linux2_6_14 => Some(Self::Linux2_4_23),
            Self::Linux2_6_14Wu | Self::Linux4_18 => Some(Self::Linux2_6_14),
            Self::Linux4_18El8 | Self::Linux5_14 => Some(Self::Linux4_18),
            Self::Linux5_14El9 | Self::Linux5_15 => Some(Self::Linux5_14),
            Self::Linux6_1 => Some(Self::Linux5_15),
            Self::Linux6_6 => Some(Self::Linux6_1),
            Self::Linux6_8 => Some(Self::Linux6_6),
            Self::Linux6_12 => Some(Self::Linux6_8),
            Self::Linux6_12Xanmod | Self::Linux6_18 => Some(Self::Linux6_12),
        }
    }

    /// This kernel and those that it derives from.
    pub fn lineage(self) -> Vec<Self> {
        std::iter::successors(Some(self), |release| release.base()).collect()
    }

    /// The known kernel with this name, such as `linux-6.18`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|release| release.name() == name)
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
        assert_eq!(picked, "aaaabccccccccccccc");
    }
}
