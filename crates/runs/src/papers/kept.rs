//! The folder with the stored cases of a paper: perf.data and counters of each case, and once the kernel's symbols,
//! which another kernel does not have.

use super::Error;
use serde::{Deserialize, Serialize};
use slowpath_cost::Profile;
use slowpath_lab::web::Ran;
use slowpath_papers::lavoie::{ServerCase, compared_cases};
use slowpath_profile::{Contents, Oddity, SymbolSources};
use std::fs;
use std::path::Path;

/// A case that was run, with its profile.
pub struct Done {
    pub case: ServerCase,
    pub ran: Ran,
    pub profile: Profile,
    pub event: String,
    /// Whether cache misses were sampled, or why not; `None` if not stored.
    pub cache_misses: Option<String>,
    pub release: String,
    /// Its CPUs; `None` if not stored.
    pub machine: Option<String>,
    pub seconds: u64,
}

/// The JSON that is stored next to a profile.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Beside {
    schema: String,
    /// The kernel's release.
    release: String,
    /// The machine's CPUs; not stored before 2026-11-23.
    machine: Option<String>,
    /// The sampled event, and why it was chosen.
    event: String,
    /// Whether cache misses were sampled; not stored before 2026-11-27.
    cache_misses: Option<String>,
    seconds: u64,
    ran: Ran,
}

const SCHEMA: &str = "slowpath/web-run/1";
/// The kernel's symbols.
const KALLSYMS: &str = "/proc/kallsyms";
/// The name of their copy.
const SYMBOLS: &str = "kallsyms";

/// A case's name as a file name.
fn name_of(case: ServerCase) -> String {
    case.to_string().replace(' ', "-")
}

fn beside_of(case: ServerCase) -> String {
    format!("{}.json", name_of(case))
}

/// A case's profile in a folder.
pub fn file_of(case: ServerCase) -> String {
    format!("{}.perf.data", name_of(case))
}

fn has(folder: &Path, case: ServerCase) -> bool {
    folder.join(beside_of(case)).exists()
}

/// Reads the cases that a folder has.
pub fn read_all(cases: &[ServerCase], folder: &Path) -> Result<Vec<Done>, Error> {
    let there = cases.iter().filter(|case| has(folder, **case));
    let done: Vec<Done> = there.map(|case| Done::kept(*case, folder)).collect::<Result<_, Error>>()?;
    if done.is_empty() { Err(Error::NoneKept(folder.to_owned())) } else { Ok(done) }
}

/// The cases that both folders have.
///
/// # Errors
///
/// If a case is in only one of them, or there are none.
pub fn in_both(cases: &[ServerCase], before: &Path, after: &Path) -> Result<Vec<ServerCase>, Error> {
    let wanted: Vec<ServerCase> = compared_cases().into_iter().filter(|case| cases.contains(case)).collect();
    let missing = |folder: &Path, other: &Path| {
        let cases = wanted.iter().filter(|case| !has(folder, **case) && has(other, **case));
        let names: Vec<String> = cases.map(ServerCase::to_string).collect();
        let (folder, other) = (folder.display(), other.display());
        (!names.is_empty()).then(|| format!("{folder}: has no {}, which {other} has", names.join(", ")))
    };
    let missing: Vec<String> =
        [missing(before, after), missing(after, before)].into_iter().flatten().collect();
    if !missing.is_empty() {
        return Err(Error::NotInBoth(missing.join("; ")));
    }
    let both: Vec<ServerCase> = wanted.into_iter().filter(|case| has(after, *case)).collect();
    if both.is_empty() {
        let names = compared_cases().map(|case| case.to_string()).join(", ");
        return Err(Error::NoneCompared { folders: [before.to_owned(), after.to_owned()], names });
    }
    Ok(both)
}

impl Done {
    /// Writes the counters next to the profile.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn keep(&self, folder: &Path) -> Result<(), Error> {
        let beside = Beside {
            schema: SCHEMA.to_owned(),
            release: self.release.clone(),
            machine: self.machine.clone(),
            event: self.event.clone(),
            cache_misses: self.cache_misses.clone(),
            seconds: self.seconds,
            ran: self.ran.clone(),
        };
        let path = folder.join(beside_of(self.case));
        let text = serde_json::to_vec_pretty(&beside).map_err(|source| Error::json(&path, source))?;
        fs::write(&path, text).map_err(Error::file(&path, "cannot be written"))
    }

    fn kept(case: ServerCase, folder: &Path) -> Result<Self, Error> {
        let path = folder.join(beside_of(case));
        let text = fs::read(&path).map_err(Error::file(&path, "cannot be read"))?;
        let beside: Beside = serde_json::from_slice(&text).map_err(|source| Error::json(&path, source))?;
        if beside.schema != SCHEMA {
            return Err(Error::OtherSchema { path, found: beside.schema, known: SCHEMA });
        }
        let Beside { release, machine, event, cache_misses, seconds, ran, .. } = beside;
        let symbols = folder.join(SYMBOLS);
        let profile = read(&folder.join(file_of(case)), symbols.exists().then_some(symbols.as_path()))?;
        Ok(Self { case, ran, profile, event, cache_misses, release, machine, seconds })
    }
}

/// Stores the kernel's symbols.
pub fn keep_symbols(folder: &Path) -> Result<(), Error> {
    let path = folder.join(SYMBOLS);
    let text = fs::read(KALLSYMS).map_err(Error::file(KALLSYMS, "cannot be read"))?;
    fs::write(&path, text).map_err(Error::file(&path, "cannot be written"))
}

/// Reads a profile and resolves its kernel functions with these symbols or this host's.
///
/// # Errors
///
/// If it cannot be read, or if another kernel runs here and the symbols were not stored.
pub fn read(file: &Path, symbols: Option<&Path>) -> Result<Profile, Error> {
    let kallsyms = symbols.map(Path::to_owned);
    let input = slowpath_profile::open(file, &SymbolSources { kallsyms, ..SymbolSources::default() })?;
    let nameless = |oddity: Oddity| {
        matches!(oddity, Oddity::KernelSymbolsHidden | Oddity::OtherKernel | Oddity::NoKernelSymbols)
    };
    if let Some(note) = input.notes.iter().find(|note| nameless(note.oddity)) {
        return Err(Error::NoNames { path: file.to_owned(), note: note.to_string() });
    }
    match input.contents {
        Contents::Stacks(profile) => Ok(profile),
        Contents::Calls(_) => Err(Error::NoStacks(file.to_owned())),
    }
}

/// The model name of this machine's CPUs on x86 (`show_cpuinfo`); other CPUs have none there.
pub fn machine() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    cpus(&text)
}

fn cpus(cpuinfo: &str) -> Option<String> {
    let of = |line: &'_ str, key: &str| -> Option<String> {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    };
    let count = cpuinfo.lines().filter(|line| of(line, "processor").is_some()).count();
    let model = cpuinfo.lines().find_map(|line| of(line, "model name"))?;
    Some(format!("{count} × {model}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_is_identified_by_its_cpus() {
        let text = "processor\t: 0\nmodel name\t: Some CPU @ 2.50GHz\n\nprocessor\t: 1\nmodel name\t: Some CPU @ 2.50GHz\n";
        assert_eq!(cpus(text).as_deref(), Some("2 × Some CPU @ 2.50GHz"));
        assert_eq!(cpus("processor\t: 0\nBogoMIPS\t: 100.00\n"), None);
    }

    /// A report of stored results equals the report of the run, to the last digit.
    #[test]
    fn stored_numbers_round_trip() {
        for number in (1..20_000).map(|number| 2.0 + f64::from(number) / 7.0) {
            let text = serde_json::to_string(&number).expect("a number");
            assert_eq!(
                serde_json::from_str::<f64>(&text).expect("a number").to_bits(),
                number.to_bits(),
                "{text}"
            );
        }
    }

    /// Missing cases are named before any profile is read, in both folders.
    #[test]
    fn folders_with_different_cases_are_not_compared() {
        let folder = tempfile::tempdir().expect("a folder");
        let (before, after) = (folder.path().join("before"), folder.path().join("after"));
        let [small, middle, large] = compared_cases();
        for path in [&before, &after] {
            fs::create_dir(path).expect("a folder");
        }
        let all = compared_cases();
        let touch = |folder: &Path, case| fs::write(folder.join(beside_of(case)), "").expect("written");
        let refused = || in_both(&all, &before, &after).expect_err("refused").to_string();
        assert!(refused().contains("have none of the cases that are compared: 1K one sendfile no-TSO, 8K"));
        touch(&before, small);
        touch(&after, small);
        assert_eq!(in_both(&all, &before, &after).expect("one"), [small]);
        touch(&before, middle);
        touch(&after, large);
        let said = refused();
        assert!(said.contains("before: has no 64K one sendfile no-TSO, which "), "{said}");
        assert!(said.contains("after: has no 8K one sendfile no-TSO, which "), "{said}");
        // Cases that were not requested are not compared.
        assert_eq!(in_both(&[small], &before, &after).expect("one"), [small]);
    }
}
