//! A BPF object that is built into a crate: the one next to its sources if it was built from these, otherwise a new one, for
//! which clang is needed. Included by the build script of each crate that has one.

use sha2::{Digest, Sha256};
use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDER: &str = "bpf";
/// What precedes the sources' hash in an object.
const MARK: &str = "slowpath-bpf-source:";

/// Puts `NAME.bpf.o` of `bpf/NAME.bpf.c` into the folder of the build's output.
pub fn object(name: &str) {
    println!("cargo::rerun-if-changed={FOLDER}");
    let hash = hash_of_sources();
    println!("cargo::rustc-env=SLOWPATH_BPF_SOURCE={MARK}{hash}");
    let file = format!("{name}.bpf.o");
    let object = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names it")).join(&file);
    let shipped = fs::read(Path::new(FOLDER).join(&file)).unwrap_or_default();
    if contains(&shipped, format!("{MARK}{hash}").as_bytes()) {
        fs::write(object, shipped).expect("the object is copied");
    } else {
        compile(name, &hash, &object);
    }
}

/// A hash over names and contents, in the order of the names.
fn hash_of_sources() -> String {
    let entries = fs::read_dir(FOLDER).expect("the sources are there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "c" || ending == "h"));
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        let text = fs::read(&file).expect("a source can be read");
        hash.update(file.file_name().expect("it has a name").as_encoded_bytes());
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    hash.finalize().iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all");
        text
    })
}

fn contains(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|window| window == what)
}

fn compile(name: &str, hash: &str, object: &Path) {
    // libbpf-sys passes its headers to its dependents: `links = "bpf"`.
    let headers = env::var("DEP_BPF_INCLUDE").expect("libbpf-sys names the folder of its headers");
    let mut clang = Command::new(env::var_os("CLANG").unwrap_or_else(|| "clang".into()));
    clang.args(["-g", "-O2", "-target", "bpf", "-mcpu=v3", "-Wall", "-Werror"]);
    clang.arg("-c").arg(format!("{name}.bpf.c"));
    clang.arg(format!("-DSOURCE_HASH=\"{hash}\"")).arg(format!("-I{headers}"));
    // Paths of this machine stay out of the object.
    clang.arg("-fdebug-compilation-dir=.").arg("-o").arg(object).current_dir(FOLDER);
    run(clang, name, "clang 14 or newer");
    let mut strip = Command::new(env::var_os("LLVM_STRIP").unwrap_or_else(|| "llvm-strip".into()));
    strip.arg("-g").arg(object);
    run(strip, name, "llvm");
}

fn run(mut command: Command, name: &str, package: &str) {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{program} ended with {status}: {command:?}"),
        Err(error) => panic!(
            "{FOLDER}/{name}.bpf.o was built from other sources, and {program} does not start ({error}): install {package}"
        ),
    }
}
