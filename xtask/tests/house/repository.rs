//! The files of the repository, as the tests read them.

use std::fs;
use std::path::{Path, PathBuf};

/// The repository's folder.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().expect("xtask is in the repository's folder").to_path_buf()
}

/// A text file of the repository.
pub struct Text {
    /// Its path from the repository's folder.
    pub path: String,
    /// Its contents.
    pub text: String,
}

impl Text {
    /// Whether the file's name has one of these endings.
    pub fn is(&self, endings: &[&str]) -> bool {
        endings.iter().any(|ending| self.path.ends_with(ending))
    }

    /// Numbered lines, from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// Folders that tools write, not people. A build folder may be elsewhere or here under another name, so it is
/// recognised by the tag that cargo leaves in it.
fn is_made(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    matches!(&*name, ".git" | "node_modules" | "out" | "corpus" | "artifacts" | "captures")
        || folder.join("CACHEDIR.TAG").exists()
        || folder.join(".rustc_info.json").exists()
}

/// Every text file that people write or read.
pub fn texts() -> Vec<Text> {
    let root = root();
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder that can be read") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                if !is_made(&path) {
                    folders.push(path);
                }
            } else if let Ok(text) = fs::read_to_string(&path) {
                let path = path.strip_prefix(&root).expect("in the repository").display().to_string();
                found.push(Text { path, text });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(found.iter().any(|text| text.path == "Cargo.toml"), "the walk begins at the repository's folder");
    found
}

/// Fails with one line for each problem found.
pub fn expect_none(wrong: &[String], rule: &str) {
    assert!(wrong.is_empty(), "{rule}\n  {}\n", wrong.join("\n  "));
}
