//! The category of a function's work: the categories of lavoie's figure 1, and those that it omits.
//!
//! A kernel function is recognised by its name, in a table for kernels 2.4 to 6.x ([`table`]): the longest matching
//! pattern decides. Functions of programs and libraries belong to the application. A function without a matching
//! pattern has no category, and is shown as such: a share of "other" would hide gaps in the table.

pub mod table;

use crate::functions::{Function, Functions, Image};
use crate::names::plain;
use crate::profile::Profile;
use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Category {
    /// TCP, over either IP version.
    Tcp,
    /// IP, routes, neighbours, netfilter.
    Ip,
    /// Socket buffers: their heads and fragments, and memory accounting.
    SocketBuffers,
    /// Pages, slabs, page tables, page faults.
    Memory,
    /// Spinlocks, mutexes, the lock of a socket.
    Locks,
    /// A NIC's driver, and what passes packets to and from it: qdiscs, NAPI, GRO.
    Driver,
    /// Interrupts and softirqs, without the work that they do.
    Interrupts,
    /// Scheduling, wake-ups and idling.
    Scheduler,
    /// Copies between programs and the kernel, within the kernel, and checksums over data.
    Copies,
    /// Entering and leaving the kernel, sockets and files in system calls, waiting for them.
    SystemCalls,
    /// Programs and libraries.
    Application,
    /// Timekeeping, RCU, security modules, file systems, profiling itself.
    OtherKernel,
}

impl Category {
    /// All of them, in display order.
    pub const ALL: [Self; 12] = [
        Self::Tcp,
        Self::Ip,
        Self::SocketBuffers,
        Self::Memory,
        Self::Locks,
        Self::Driver,
        Self::Interrupts,
        Self::Scheduler,
        Self::Copies,
        Self::SystemCalls,
        Self::Application,
        Self::OtherKernel,
    ];

    /// The category of a kernel function, by its name.
    pub fn of_kernel(name: &str) -> Option<Self> {
        let name = plain(name);
        PATTERNS.names.get(name).copied().or_else(|| {
            let beginnings = (1..=name.len()).rev().filter_map(|end| name.get(..end));
            beginnings.into_iter().find_map(|begin| PATTERNS.beginnings.get(begin)).copied()
        })
    }

    /// The category of a function of a profile. All functions of a NIC's driver have the same.
    pub fn of(functions: &Functions, function: Function) -> Option<Self> {
        let drives = |module: &str| table::DRIVERS.split_whitespace().any(|driver| driver == module);
        match functions.image(function) {
            Image::User(_) => Some(Self::Application),
            // File names of modules may have a dash where the kernel has an underscore.
            Image::Kernel(Some(module)) if drives(&module.replace('-', "_")) => Some(Self::Driver),
            Image::Kernel(_) | Image::Unknown => Self::of_kernel(functions.name(function)),
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "TCP",
            Self::Ip => "IP",
            Self::SocketBuffers => "socket buffers",
            Self::Memory => "memory",
            Self::Locks => "locks",
            Self::Driver => "driver",
            Self::Interrupts => "interrupts",
            Self::Scheduler => "scheduler",
            Self::Copies => "copies",
            Self::SystemCalls => "system calls",
            Self::Application => "application",
            Self::OtherKernel => "other kernel",
        })
    }
}

/// The table, for lookups.
struct Patterns {
    names: HashMap<&'static str, Category>,
    beginnings: HashMap<&'static str, Category>,
}

static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    let mut patterns = Patterns { names: HashMap::new(), beginnings: HashMap::new() };
    for (category, text) in table::PATTERNS {
        for pattern in text.split_whitespace() {
            match pattern.strip_suffix('*') {
                Some(begin) => patterns.beginnings.insert(begin, *category),
                None => patterns.names.insert(pattern, *category),
            };
        }
    }
    patterns
});

/// The cost of each category in an event.
#[derive(Clone, Debug, Default)]
pub struct Categories {
    /// Own costs by category, in the order of [`Category::ALL`].
    pub costs: Vec<CategoryCost>,
    /// Functions without a category, in descending order; equal ones by number.
    pub unknown: Vec<(Function, u64)>,
    /// Their total cost.
    pub unknown_weight: u64,
    /// The total cost: all categories and functions without one.
    pub total: u64,
}

/// The cost of a category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CategoryCost {
    /// The category.
    pub category: Category,
    /// Its functions' own costs.
    pub weight: u64,
}

impl Profile {
    /// The cost of each category in an event.
    pub fn categories(&self, event: u16) -> Categories {
        let own: Vec<u64> = self.own(event).iter().map(|cost| cost.weight).collect();
        Categories::of(&self.functions, &own)
    }
}

impl Categories {
    /// From functions and their own costs, by function number.
    pub fn of(functions: &Functions, own: &[u64]) -> Self {
        let costs = Category::ALL.map(|category| CategoryCost { category, weight: 0 });
        let mut found = Self { costs: costs.to_vec(), ..Self::default() };
        for (function, &weight) in functions.iter().zip(own).filter(|(_, weight)| **weight > 0) {
            found.total = found.total.saturating_add(weight);
            let category = Category::of(functions, function);
            match found.costs.iter_mut().find(|cost| Some(cost.category) == category) {
                Some(cost) => cost.weight = cost.weight.saturating_add(weight),
                None => {
                    found.unknown.push((function, weight));
                    found.unknown_weight = found.unknown_weight.saturating_add(weight);
                }
            }
        }
        found.unknown.sort_unstable_by_key(|&(function, weight)| (std::cmp::Reverse(weight), function));
        found
    }

    /// A category's share of the total. `None` if nothing cost anything.
    pub fn share(&self, category: Category) -> Option<f64> {
        let cost = self.costs.iter().find(|cost| cost.category == category)?;
        (self.total > 0).then(|| cost.weight as f64 / self.total as f64)
    }
}
