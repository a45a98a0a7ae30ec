//! What the BPF program and user space tell each other: `bpf/record.h`, number by number.

use bytemuck::{Pod, Zeroable};

/// The longest name of a congestion control, with its end (`TCP_CA_NAME_MAX`).
pub const CONGESTION_NAME: usize = 16;
/// Numbers of errors are below.
const ERRNOS: usize = 256;

/// What can be set on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// `SO_SNDBUF`.
    Send,
    /// `SO_RCVBUF`.
    Receive,
    /// `TCP_WINDOW_CLAMP`.
    Clamp,
    /// `SO_MAX_PACING_RATE`.
    Pacing,
    /// `TCP_CONGESTION`.
    Congestion,
}

impl Setting {
    /// All, in the order of their counters.
    pub const ALL: [Self; 5] = [Self::Send, Self::Receive, Self::Clamp, Self::Pacing, Self::Congestion];

    /// The socket option.
    pub const fn option(self) -> &'static str {
        match self {
            Self::Send => "SO_SNDBUF",
            Self::Receive => "SO_RCVBUF",
            Self::Clamp => "TCP_WINDOW_CLAMP",
            Self::Pacing => "SO_MAX_PACING_RATE",
            Self::Congestion => "TCP_CONGESTION",
        }
    }
}

/// What became of a setting that a path asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was set.
    Set,
    /// It was set to what `net.core.wmem_max` or `rmem_max` allows, less than the path needs.
    Cut,
    /// The kernel's own tuning reaches as far.
    Suffices,
    /// `net.core.wmem_max` or `rmem_max` allows less than the kernel's own tuning.
    Short,
    /// The program or the route has set it.
    Own,
    /// The administrator has changed the sysctl since.
    Changed,
    /// The kernel refused.
    Refused,
}

impl Fate {
    /// All, in the order of their counters.
    pub const ALL: [Self; 7] =
        [Self::Set, Self::Cut, Self::Suffices, Self::Short, Self::Own, Self::Changed, Self::Refused];
}

/// A prefix as the trie has it: bits that count, and an IPv6 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Key {
    pub bits: u32,
    pub address: [u8; 16],
}

/// What connections to a prefix need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Value {
    pub send_bytes: u32,
    pub receive_bytes: u32,
    pub clamp_bytes: u32,
    pub pacing_bytes_per_s: u32,
    pub congestion: [u8; CONGESTION_NAME],
}

/// Limits, which may change while the program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Config {
    /// Bytes of buffers that all connections together may be granted.
    pub memory_bytes: u64,
    /// Connections that may have a setting at a time.
    pub connections: u32,
    /// `net.core.wmem_max`.
    pub wmem_max: u32,
    /// `net.core.rmem_max`.
    pub rmem_max: u32,
    /// 1 while TCP is under memory pressure: no buffer is granted.
    pub is_pressed: u32,
}

/// What is granted at the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Granted {
    /// Bytes of buffers.
    pub memory_bytes: u64,
    /// Connections.
    pub connections: u64,
}

/// Counts since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Counts {
    /// Connections that were opened or accepted.
    pub seen: u64,
    /// Of these, connections to a known prefix.
    pub known: u64,
    /// Of these, connections of which at least one setting was made.
    pub tuned: u64,
    /// Left alone, since the most connections have a setting already.
    pub over_connections: u64,
    /// Left alone, since the memory is granted.
    pub over_memory: u64,
    /// Left alone, since TCP was under memory pressure.
    pub pressed: u64,
    /// What became of each setting, in the order of [`Setting::ALL`] and [`Fate::ALL`].
    pub settings: [[u64; Fate::ALL.len()]; Setting::ALL.len()],
    /// The kernel's refusals, by the number of the error.
    pub refused: [u64; ERRNOS],
}

impl Default for Counts {
    fn default() -> Self {
        Self::zeroed()
    }
}

impl Counts {
    /// How often this became of a setting.
    pub const fn of(&self, setting: Setting, fate: Fate) -> u64 {
        self.settings[setting as usize][fate as usize]
    }

    /// How often a setting was made.
    pub const fn set(&self, setting: Setting) -> u64 {
        self.of(setting, Fate::Set) + self.of(setting, Fate::Cut)
    }

    /// The kernel's refusals: errno, and how often.
    pub fn refusals(&self) -> impl Iterator<Item = (i32, u64)> + '_ {
        (0..).zip(self.refused).filter(|(_, count)| *count > 0)
    }

    /// Adds the counts of another CPU.
    pub(crate) fn add(mut self, other: &Self) -> Self {
        // All of it is counters of one size.
        let own: &mut [u64] = bytemuck::cast_slice_mut(std::slice::from_mut(&mut self));
        let others: &[u64] = bytemuck::cast_slice(std::slice::from_ref(other));
        own.iter_mut().zip(others).for_each(|(own, other)| *own += other);
        self
    }

    /// Counts of this fate of a setting, and nothing else: for tests.
    pub fn with(mut self, setting: Setting, fate: Fate, count: u64) -> Self {
        self.settings[setting as usize][fate as usize] = count;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_cpus_are_added() {
        let one = Counts { seen: 3, tuned: 1, ..Counts::default() }.with(Setting::Send, Fate::Set, 2);
        let mut other = Counts { seen: 4, ..Counts::default() }.with(Setting::Send, Fate::Cut, 5).with(
            Setting::Congestion,
            Fate::Refused,
            6,
        );
        other.refused[2] = 6;
        let both = one.add(&other);
        assert_eq!((both.seen, both.tuned, both.set(Setting::Send)), (7, 1, 7));
        assert_eq!(both.of(Setting::Congestion, Fate::Refused), 6);
        assert_eq!(both.refusals().collect::<Vec<_>>(), [(2, 6)]);
    }

    #[test]
    fn layouts_are_those_of_the_header() {
        assert_eq!(size_of::<Key>(), 20);
        assert_eq!(size_of::<Value>(), 32);
        assert_eq!(size_of::<Config>(), 24);
        assert_eq!(size_of::<Counts>(), (6 + 5 * 7 + ERRNOS) * 8);
    }
}
