//! The mixed workload: pages with embedded objects, file sizes from a log-normal distribution, and popularity by Zipf's
//! law.
//!
//! LaVoie, Nahum and Flynn (`lavoie`, section 2.1) generated such requests with WaspClient and do not give its
//! parameters. The ones here are published with SURGE: P. Barford and M. Crovella, "Generating Representative Web
//! Workloads for Network and Server Performance Evaluation" (SIGMETRICS 1998). SURGE's largest files follow a Pareto
//! distribution; lavoie names the log-normal one only, so all files here do.
//!
//! The requests are drawn beforehand, with a seed: the client only reads them from a list, and every run of the case
//! requests the same files in the same order.

use slowpath_path::chance::Draws;
use std::fmt::Write as _;

/// Mean of the logarithm of a file's size in bytes: a median of 11.6 kB (SURGE: file sizes, body).
const LOG_MEAN: f64 = 9.357;
/// Standard deviation of that logarithm (SURGE: file sizes, body).
const LOG_DEVIATION: f64 = 1.318;
/// Exponent of the number of a page's embedded objects, a Pareto distribution from 1 (SURGE: embedded references).
const EMBEDDED: f64 = 2.43;
/// Exponent of the popularity of pages by rank (Zipf's law; SURGE: popularity).
const POPULARITY: f64 = 1.0;
/// Pages of the site. With their objects, the files fit into memory many times.
const PAGES: usize = 400;
/// Drawn requests, which the client repeats: more than the server answers while a case is warmed up and observed.
const REQUESTS: usize = 200_000;
/// More objects than this are left out: one page in 30,000 has as many.
const MOST_EMBEDDED: u64 = 70;
/// What the names of the files begin with.
const PREFIX: &str = "mixed-";
/// The seed of the workload.
pub(super) const SEED: u64 = 1;

/// The files of the site, and the requests for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Workload {
    /// The size of each file, in bytes.
    pub sizes: Vec<u64>,
    /// The requested files, by number: each page and then its objects.
    pub requests: Vec<usize>,
}

impl Workload {
    /// Draws it.
    pub fn drawn(seed: u64) -> Self {
        let mut draws = Draws::new(seed);
        let mut sizes = Vec::new();
        let mut pages = Vec::with_capacity(PAGES);
        for _ in 0..PAGES {
            let first = sizes.len();
            let files = 1 + embedded(&mut draws);
            sizes.extend((0..files).map(|_| size(&mut draws)));
            pages.push(first..sizes.len());
        }
        let popularity = Popularity::of(PAGES);
        let mut requests = Vec::with_capacity(REQUESTS);
        while requests.len() < REQUESTS {
            requests.extend(pages[popularity.rank(&mut draws)].clone());
        }
        Self { sizes, requests }
    }

    /// The name of a file.
    pub fn name(file: usize) -> String {
        format!("{PREFIX}{file}")
    }

    /// The script with which wrk requests these files in this order.
    pub fn script(&self) -> String {
        let mut list = String::new();
        for file in &self.requests {
            // Writing to a String never fails.
            let _ = write!(list, "{file} ");
        }
        format!(
            "local list, all, at = {{}}, {{}}, 0\n\
             for file in (\"{list}\"):gmatch(\"%d+\") do list[#list + 1] = tonumber(file) end\n\
             function init()\n  \
             for file = 0, {} do all[file] = wrk.format(\"GET\", \"/{}\" .. file) end\nend\n\
             function request()\n  at = at % #list + 1\n  return all[list[at]]\nend\n",
            self.sizes.len().saturating_sub(1),
            PREFIX
        )
    }
}

/// A number from (0, 1], uniformly distributed.
fn uniform(draws: &mut Draws) -> f64 {
    // The upper 53 bits, as many as a mantissa has.
    ((draws.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

/// A file's size in bytes, by the method of Box and Muller.
fn size(draws: &mut Draws) -> u64 {
    let (radius, angle) = (uniform(draws), uniform(draws));
    let normal = (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos();
    ((LOG_MEAN + LOG_DEVIATION * normal).exp() as u64).max(1)
}

/// The number of a page's embedded objects.
fn embedded(draws: &mut Draws) -> u64 {
    (uniform(draws).powf(-1.0 / EMBEDDED) as u64).min(MOST_EMBEDDED)
}

/// Zipf's law: how often the pages up to each rank are requested.
struct Popularity(Vec<f64>);

impl Popularity {
    fn of(pages: usize) -> Self {
        let mut sum = 0.0;
        let mut up_to = |rank: usize| {
            sum += (rank as f64).powf(-POPULARITY);
            sum
        };
        Self((1..=pages).map(&mut up_to).collect())
    }

    /// A rank, from 0.
    fn rank(&self, draws: &mut Draws) -> usize {
        let all = self.0.last().copied().unwrap_or(0.0);
        let drawn = uniform(draws) * all;
        self.0.partition_point(|up_to| *up_to < drawn).min(self.0.len().saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and standard deviation.
    fn moments(numbers: &[f64]) -> [f64; 2] {
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
        [mean, (squares / numbers.len() as f64).sqrt()]
    }

    #[test]
    fn file_sizes_are_log_normal() {
        let mut draws = Draws::new(7);
        let sizes: Vec<f64> = (0..100_000).map(|_| size(&mut draws) as f64).collect();
        let logarithms: Vec<f64> = sizes.iter().map(|size| size.ln()).collect();
        let [mean, deviation] = moments(&logarithms);
        assert!((mean - LOG_MEAN).abs() < 0.02 && (deviation - LOG_DEVIATION).abs() < 0.02);
        // By the table of the normal distribution: these shares are within so many standard deviations above the mean.
        for (deviations, share) in [(-1.0, 0.1587), (0.0, 0.5), (1.0, 0.8413), (2.0, 0.9772)] {
            let bound: f64 = LOG_MEAN + LOG_DEVIATION * deviations;
            let below = logarithms.iter().filter(|log| **log < bound).count() as f64 / 100_000.0;
            assert!((below - share).abs() < 0.005, "{below} below {deviations} deviations");
        }
        let [bytes, _] = moments(&sizes);
        let expected = (LOG_MEAN + LOG_DEVIATION.powi(2) / 2.0).exp();
        assert!((bytes / expected - 1.0).abs() < 0.03, "{bytes} bytes on average, not {expected}");
    }

    #[test]
    fn popularity_follows_zipfs_law() {
        let (popularity, mut draws) = (Popularity::of(PAGES), Draws::new(7));
        let mut counts = vec![0_u32; PAGES];
        for _ in 0..200_000 {
            counts[popularity.rank(&mut draws)] += 1;
        }
        let harmonic: f64 = (1..=PAGES).map(|rank| 1.0 / rank as f64).sum();
        // Chi-squared: its mean is the number of pages less one, with a standard deviation of 28.
        let squared: f64 = (1..=PAGES)
            .map(|rank| {
                let expected = 200_000.0 / harmonic / rank as f64;
                (f64::from(counts[rank - 1]) - expected).powi(2) / expected
            })
            .sum();
        assert!((300.0..500.0).contains(&squared), "{squared}");
    }

    #[test]
    fn embedded_objects_follow_a_pareto_distribution() {
        let mut draws = Draws::new(7);
        let numbers: Vec<u64> = (0..100_000).map(|_| embedded(&mut draws)).collect();
        for least in [1_u64, 2, 3, 5] {
            let share = numbers.iter().filter(|number| **number >= least).count() as f64 / 100_000.0;
            let expected = (least as f64).powf(-EMBEDDED);
            assert!((share - expected).abs() < 0.005, "{share} have {least} or more, not {expected}");
        }
    }

    #[test]
    fn a_page_is_followed_by_its_objects_and_a_seed_repeats_all() {
        let workload = Workload::drawn(SEED);
        assert_eq!(workload, Workload::drawn(SEED));
        assert_ne!(workload.requests, Workload::drawn(SEED + 1).requests);
        assert!(workload.requests.len() >= REQUESTS && workload.sizes.len() >= 2 * PAGES);
        assert!(workload.requests.iter().all(|file| *file < workload.sizes.len()));
        // Every page has an object, which is the next file.
        assert_eq!(workload.requests[1], workload.requests[0] + 1);
        let mean = workload.requests.iter().map(|file| workload.sizes[*file] as f64).sum::<f64>()
            / workload.requests.len() as f64;
        assert!((5_000.0..80_000.0).contains(&mean), "{mean} bytes a request");
    }

    #[test]
    fn script_lists_the_requests() {
        let workload = Workload { sizes: vec![10, 20, 30], requests: vec![0, 1, 2, 0] };
        let script = workload.script();
        assert!(script.contains("(\"0 1 2 0 \"):gmatch(\"%d+\")"), "{script}");
        assert!(
            script.contains("for file = 0, 2 do all[file] = wrk.format(\"GET\", \"/mixed-\" .. file) end")
        );
        assert_eq!(Workload::name(2), "mixed-2");
    }
}
