//! Sets of CPUs, in the kernel's two notations: a list (`0-3,8`) and a hexadecimal mask (`10f`).
//!
//! Reference: bitmap_parselist(), bitmap_parse() and `%*pb[l]` (lib/bitmap-str.c, 6.18).

use super::Unfit;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// No kernel has more (NR_CPUS_RANGE_END of x86_64 with CPUMASK_OFFSTACK).
const MOST: u32 = 8192;
/// The value of a set without a CPU.
const NONE: &str = "none";

/// A set of CPUs. As text it is a list, or `none`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpus(BTreeSet<u32>);

impl Cpus {
    /// The first `count` CPUs.
    pub fn first(count: u32) -> Self {
        Self((0..count.min(MOST)).collect())
    }

    /// Whether it has no CPU.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The CPUs, in their order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().copied()
    }

    /// The CPUs that `others` lacks.
    #[must_use]
    pub fn without(&self, others: &Self) -> Self {
        Self(self.0.difference(&others.0).copied().collect())
    }

    /// The set of a mask; `None` if it is none.
    pub fn from_mask(mask: &str) -> Option<Self> {
        let words: Vec<u32> =
            mask.trim().split(',').map(|word| u32::from_str_radix(word, 16).ok()).collect::<Option<_>>()?;
        let cpus = words.iter().rev().zip(0..MOST / 32).flat_map(|(word, at)| {
            (0..32).filter(move |bit| word >> bit & 1 != 0).map(move |bit| at * 32 + bit)
        });
        Some(Self(cpus.collect()))
    }

    /// The mask, in words of 32 CPUs.
    pub fn mask(&self) -> String {
        let words = self.0.last().map_or(0, |last| last / 32);
        let word = |at: u32| {
            self.0.range(at * 32..at * 32 + 32).fold(0_u32, |word, cpu| word | 1 << (cpu - at * 32))
        };
        let rest = (0..words).rev().map(|at| format!(",{:08x}", word(at)));
        format!("{:x}", word(words)) + &rest.collect::<String>()
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for cpu in self.iter() {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == cpu => *last = cpu,
                _ => ranges.push((cpu, cpu)),
            }
        }
        let text = |(first, last): (u32, u32)| {
            if first == last { first.to_string() } else { format!("{first}-{last}") }
        };
        let text: Vec<String> = ranges.into_iter().map(text).collect();
        out.write_str(if text.is_empty() { NONE.to_owned() } else { text.join(",") }.as_str())
    }
}

impl FromStr for Cpus {
    type Err = Unfit;

    fn from_str(text: &str) -> Result<Self, Unfit> {
        if text == NONE {
            return Ok(Self::default());
        }
        let unfit = || Unfit(format!("\"{text}\" is not a list of CPUs; write one such as 0-3,8"));
        let mut cpus = BTreeSet::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let [first, last] = [first, last].map(|word| number(word).filter(|cpu| *cpu < MOST));
            let (first, last) = first.zip(last).filter(|(first, last)| first <= last).ok_or_else(unfit)?;
            cpus.extend(first..=last);
        }
        Ok(Self(cpus))
    }
}

/// A number in digits alone: no sign, unlike [`str::parse`].
pub(super) fn number(word: &str) -> Option<u32> {
    word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_masks_are_the_kernels() {
        for (list, mask) in [
            ("none", "0"),
            ("0", "1"),
            ("0-3,8", "10f"),
            ("31", "80000000"),
            ("32", "1,00000000"),
            ("0,32-33,95", "80000000,00000003,00000001"),
        ] {
            let cpus: Cpus = list.parse().expect(list);
            assert_eq!((cpus.to_string().as_str(), cpus.mask().as_str()), (list, mask));
            assert_eq!(Cpus::from_mask(mask), Some(cpus));
        }
        assert_eq!(Cpus::from_mask("00000000,0000000f\n").expect("a mask").to_string(), "0-3");
        assert_eq!("3,0,1,2-2".parse::<Cpus>().expect("a list").to_string(), "0-3");
        for text in ["", "x", "1-", "3-1", "+1", "-1", "0-8192", "1,,2", "0 1", "0-3:1/2"] {
            assert!(text.parse::<Cpus>().is_err(), "{text}");
        }
        for mask in ["", "x", "1,", "100000000"] {
            assert_eq!(Cpus::from_mask(mask), None, "{mask}");
        }
    }
}
