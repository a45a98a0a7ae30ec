//! `--html`: the folder of a paper's page.

use anyhow::{Context, bail, ensure};
use slowpath_papers::Report;
use slowpath_views::papers::{GENERATOR, page};
use std::fs;
use std::path::{Path, PathBuf};
use std::process;

const FILE: &str = "index.html";

/// The folder of a page.
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// The folder, which is made if it is not there: checked before anything runs.
    ///
    /// # Errors
    ///
    /// If it holds anything but a page of ours.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        ensure!(!path.exists() || path.is_dir(), "{shown}: is a file; name a folder for --html");
        fs::create_dir_all(path).with_context(|| format!("{shown}: cannot be made"))?;
        for entry in fs::read_dir(path).with_context(|| format!("{shown}: cannot be read"))? {
            let file = entry.with_context(|| format!("{shown}: cannot be read"))?.path();
            if file.file_name() != Some(FILE.as_ref()) || !is_ours(&file) {
                bail!("{}: is no page of this command's; name another folder for --html", file.display());
            }
        }
        Ok(Self { path: path.to_owned() })
    }

    /// Writes the page, whole or not at all; says where it is.
    pub fn write(&self, report: &Report) -> anyhow::Result<PathBuf> {
        let file = self.path.join(FILE);
        let unfinished = self.path.join(format!(".{FILE}-{}.part", process::id()));
        let written = fs::write(&unfinished, page(report)).and_then(|()| fs::rename(&unfinished, &file));
        if written.is_err() {
            // It may not even have been made.
            let _ = fs::remove_file(&unfinished);
        }
        written.with_context(|| format!("{}: cannot be written", file.display()))?;
        Ok(file)
    }
}

fn is_ours(file: &Path) -> bool {
    fs::read(file).is_ok_and(|text| text.windows(GENERATOR.len()).any(|part| part == GENERATOR.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        Report {
            schema: "slowpath/paper/1",
            paper: "none",
            title: "None 2007",
            seeds: 1,
            measured_on: Vec::new(),
            tables: Vec::new(),
            figures: Vec::new(),
            graphs: Vec::new(),
            claims: Vec::new(),
            comparison: None,
            runs: Vec::new(),
        }
    }

    #[test]
    fn only_its_own_page_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let refused = |path: &Path| Folder::open(path).err().map(|error| error.to_string());
        let own = folder.path().join("new/own");
        let open = || Folder::open(&own).expect("its own");
        for _ in 0..2 {
            assert_eq!(open().write(&report()).expect("written"), own.join(FILE));
        }
        assert_eq!(fs::read_dir(&own).expect("a folder").count(), 1, "nothing unfinished is left");
        assert!(refused(&own.join(FILE)).is_some_and(|error| error.ends_with("name a folder for --html")));
        fs::write(own.join("notes.txt"), "mine").expect("written");
        assert!(refused(&own).is_some_and(|error| error.contains("notes.txt: is no page of this command's")));
        let other = folder.path().join(FILE);
        fs::write(&other, "<html>somebody else's").expect("written");
        assert!(refused(folder.path()).is_some_and(|error| error.contains("name another folder for --html")));
        assert_eq!(fs::read_to_string(&other).expect("still there"), "<html>somebody else's");
    }
}
