//! What keeps settings over a reboot: a file of `sysctl.d`, and for all other settings of the host a unit of systemd that makes them
//! again. Their texts are pure.

use crate::journal::Changed;
use slowpath_remedies::Setting;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Where units are, below the folder of the configuration.
const UNITS: &str = "systemd/system";
/// The target that starts the unit at boot, below [`UNITS`].
const WANTS: &str = "multi-user.target.wants";

/// A file that keeps settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The file.
    pub(crate) file: PathBuf,
    /// Its text; of a link, that of the file to which it leads.
    pub(crate) text: String,
    /// Where it leads, if it is a link.
    pub(crate) to: Option<PathBuf>,
}

/// What keeps a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeper {
    /// A file of `sysctl.d`.
    Sysctls,
    /// A unit of systemd.
    Unit,
}

impl Keeper {
    /// That of `setting`; a process does not outlive the reboot.
    const fn of(setting: &Setting) -> Option<Self> {
        match setting {
            Setting::Sysctl(_) => Some(Self::Sysctls),
            Setting::Process { .. } => None,
            _ => Some(Self::Unit),
        }
    }

    /// Whether this host reads it below `etc`.
    fn is_read(self, etc: &Path) -> bool {
        self == Self::Sysctls || etc.join(UNITS).is_dir()
    }
}

/// Whether files below `etc` can keep `setting`.
pub(crate) fn can_keep(etc: &Path, setting: &Setting) -> bool {
    Keeper::of(setting).is_some_and(|keeper| keeper.is_read(etc))
}

/// Whether a persisted file keeps this setting.
pub(crate) fn keeps(file: &Path, setting: &str) -> bool {
    let is_unit = file.extension().is_some_and(|extension| extension == "service");
    let keeper = if is_unit { Keeper::Unit } else { Keeper::Sysctls };
    setting.parse().is_ok_and(|setting| Keeper::of(&setting) == Some(keeper))
}

/// The files below `etc` that keep the changes of plan `id`, in the order in which they are written; a link comes after the file to
/// which it leads.
pub(crate) fn files(etc: &Path, id: u32, changes: &[(Setting, Changed)]) -> Vec<Kept> {
    let by = format!("# Written by slowpath; `slowpath tune revert {id}` removes it.\n");
    let mut files = Vec::new();
    let sysctls = changes.iter().filter_map(|(setting, changed)| match setting {
        Setting::Sysctl(name) => Some(format!("{name} = {}\n", changed.new)),
        _ => None,
    });
    let sysctls: String = sysctls.collect();
    if !sysctls.is_empty() {
        let file = etc.join("sysctl.d").join(format!("90-slowpath-{id}.conf"));
        files.push(Kept { file, text: by.clone() + &sysctls, to: None });
    }
    let of_unit = changes.iter().filter(|(setting, _)| Keeper::of(setting) == Some(Keeper::Unit));
    let commands = of_unit.map(|(setting, Changed { old, new, .. })| {
        format!("ExecStart=/bin/sh -c {}\n", quoted(&setting.line(old, new)))
    });
    let commands: String = commands.collect();
    if !commands.is_empty() && Keeper::Unit.is_read(etc) {
        let name = format!("slowpath-tune-{id}.service");
        let text =
            by + &format!(
                "[Unit]\nDescription=Settings of plan {id} of slowpath\nDocumentation=man:slowpath-tune(1)\n\
                 Wants=network-online.target\nAfter=network-online.target\n\n\
                 [Service]\nType=oneshot\nRemainAfterExit=yes\n"
            ) + &commands;
        let (file, link) = (etc.join(UNITS).join(&name), etc.join(UNITS).join(WANTS).join(&name));
        files.push(Kept { file, text: text.clone(), to: None });
        files.push(Kept { file: link, text, to: Some(Path::new("..").join(name)) });
    }
    files
}

/// A word of a unit's command line (systemd.service(5), "Command lines").
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            '%' | '$' => quoted.extend([char, char]),
            _ => quoted.push(char),
        }
    }
    quoted + "\""
}

impl Kept {
    /// Writes it; it must not exist. It is on disk when this returns.
    pub(crate) fn write(&self) -> io::Result<()> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        match &self.to {
            Some(to) => {
                fs::create_dir_all(folder)?;
                symlink(to, &self.file)?;
            }
            None => {
                let mut file = OpenOptions::new().write(true).create_new(true).open(&self.file)?;
                file.write_all(self.text.as_bytes())?;
                file.sync_all()?;
            }
        }
        File::open(folder)?.sync_all()
    }
}

/// Removes a file that keeps settings, unless somebody has changed it since.
pub(crate) fn remove(file: &Path, text: &str) -> Result<(), String> {
    match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error.to_string()),
        // A kill may have left its beginning.
        Ok(found) if text.starts_with(&found) => fs::remove_file(file).map_err(|error| error.to_string()),
        Ok(_) => Err("it was edited since: left alone".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_of_a_unit_is_one_word_without_specifiers() {
        assert_eq!(quoted("ip link set eth0 mtu 9000"), "\"ip link set eth0 mtu 9000\"");
        assert_eq!(quoted(r#"a "b" \ %n $HOME"#), r#""a \"b\" \\ %%n $$HOME""#);
    }

    #[test]
    fn each_setting_is_kept_by_its_file() {
        let (conf, unit) = (Path::new("90-slowpath-1.conf"), Path::new("slowpath-tune-1.service"));
        for (setting, by_conf, by_unit) in [
            ("sysctl net.ipv4.tcp_sack", true, false),
            ("link eth0 mtu", false, true),
            ("route 192.0.2.0/24", false, true),
            ("process 4711 nice", false, false),
        ] {
            assert_eq!((keeps(conf, setting), keeps(unit, setting)), (by_conf, by_unit), "{setting}");
        }
    }
}
