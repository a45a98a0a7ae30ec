//! Keys, configuration and commands. Nothing of the machine's own ssh is read or changed: every file is in the lab's own
//! folder, and where a server insists on a path of the machine, that path is another one for it alone (a mount
//! namespace of its own, mount_namespaces(7)).

use super::{Client, Copy, Server};
use crate::error::LabError;
use crate::host::Host;
use crate::namespaces::run;
use crate::scenario::Instead;
use crate::scratch::Scratch;
use crate::settings::Family;
use crate::testbed;
use slowpath_model::Bytes;
use slowpath_model::shown::word;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Not a privileged one, nor that of the machine's own server.
const PORT: u16 = 2222;

/// What is passed to programs by name.
const CLIENT_KEY: &str = "client-key";
const SSHD_KEY: &str = "sshd-key";
const DROPBEAR_KEY: &str = "dropbear-key";
const KNOWN_HOSTS: &str = "known-hosts";
const CLIENT_CONFIG: &str = "ssh.conf";
const SERVER_CONFIG: &str = "sshd.conf";
const AUTHORIZED: &str = ".ssh/authorized_keys";
const SENT: &str = "sent";
const COPIED: &str = "copied";

/// The folder of keys and configuration.
pub struct Setup {
    folder: PathBuf,
}

impl Setup {
    /// Makes new keys, which are removed with the folder.
    ///
    /// # Errors
    /// If a key cannot be made or a file cannot be written.
    pub fn create(scratch: &Scratch) -> Result<Self, LabError> {
        let folder = scratch.file("ssh");
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
        if !folder.as_os_str().as_encoded_bytes().iter().all(|byte| is_plain(*byte)) {
            let what =
                format!("{}: ssh's programs need a path of letters and digits; set TMPDIR", folder.display());
            return Err(LabError::Unfit(what));
        }
        let setup = Self { folder };
        let home = setup.file(".ssh");
        fs::create_dir_all(&home).map_err(LabError::file(&home))?;
        // Dropbear refuses keys in a folder that others may write to (`checkpubkeyperms`).
        for folder in [&setup.folder, &home] {
            fs::set_permissions(folder, Permissions::from_mode(0o700)).map_err(LabError::file(folder))?;
        }
        for key in [CLIENT_KEY, SSHD_KEY] {
            run(&["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", &setup.text(key)])?;
        }
        run(&["dropbearkey", "-t", "ed25519", "-f", &setup.text(DROPBEAR_KEY)])?;
        let public = |key: &str| {
            let path = setup.file(&format!("{key}.pub"));
            fs::read_to_string(&path).map_err(LabError::file(&path))
        };
        setup.write(AUTHORIZED, &public(CLIENT_KEY)?)?;
        let address = testbed::address(Family::V4, Host::Receiver);
        let hosts = [public(SSHD_KEY)?, public_of_dropbear(&setup.file(DROPBEAR_KEY))?];
        let known: String = hosts.iter().map(|key| format!("[{address}]:{PORT} {}\n", key.trim())).collect();
        setup.write(KNOWN_HOSTS, &known)?;
        setup.write(CLIENT_CONFIG, &setup.client_config())?;
        setup.write(SERVER_CONFIG, &setup.server_config())?;
        Ok(setup)
    }

    /// The commands of a copy, whose file is written here.
    ///
    /// # Errors
    /// If the folder for temporary files is full.
    pub fn programs(&self, copy: Copy) -> Result<Instead, LabError> {
        let path = self.file(SENT);
        let mut file = fs::File::create(&path).map_err(LabError::file(&path))?;
        let piece: Vec<u8> = (0..1 << 16).map(|at| (at % 251) as u8).collect();
        let mut left = copy.amount.get();
        while left > 0 {
            let length = left.min(piece.len() as u64) as usize;
            file.write_all(&piece[..length]).map_err(LabError::file(&path))?;
            left -= length as u64;
        }
        let copied = self.file(COPIED);
        if copied.exists() {
            fs::remove_file(&copied).map_err(LabError::file(&copied))?;
        }
        Ok(Instead {
            server_at: Host::Receiver,
            server: self.server(copy.server),
            client: self.client(copy.client),
        })
    }

    /// The size of the copied file; `None` if there is none.
    pub fn copied(&self) -> Option<Bytes> {
        fs::metadata(self.file(COPIED)).ok().map(|about| Bytes::new(about.len()))
    }

    /// In a mount namespace of its own, which `unshare` makes or fails: its mounts are never the machine's.
    fn server(&self, server: Server) -> String {
        let serves = match server {
            // sshd wants an empty folder of root's (`_PATH_PRIVSEP_CHROOT_DIR`: /run/sshd).
            Server::OpenSsh => format!(
                "mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && exec \"$(command -v sshd)\" -D -e -f {}",
                word(&self.text(SERVER_CONFIG))
            ),
            // It reads ~/.ssh/authorized_keys only.
            Server::Dropbear { window } => format!(
                "mount --bind {} ~root && exec dropbear -F -E -m -s -j -k -W {} -p {PORT} -r {} -P {}",
                word(&self.text("")),
                window.get(),
                word(&self.text(DROPBEAR_KEY)),
                word(&self.text("dropbear.pid"))
            ),
        };
        // Debian keeps servers outside a user's PATH.
        let path = "PATH=$PATH:/usr/sbin:/sbin";
        format!("{path}; exec unshare --mount --propagation private sh -c {}", word(&serves))
    }

    fn client(&self, client: Client) -> String {
        let (config, sent, copied) =
            (self.text(CLIENT_CONFIG), self.text(SENT), format!("{{server}}:{}", self.text(COPIED)));
        match client {
            Client::Scp => format!("exec scp -O -F {} {} {copied}", word(&config), word(&sent)),
            Client::Rsync => {
                let ssh = format!("ssh -F {config}");
                format!("exec rsync --whole-file --inplace -e {} {} {copied}", word(&ssh), word(&sent))
            }
        }
    }

    fn client_config(&self) -> String {
        format!(
            "Host *\nUser root\nPort {PORT}\nIdentityFile \"{}\"\nIdentitiesOnly yes\nIdentityAgent none\n\
             UserKnownHostsFile \"{}\"\nGlobalKnownHostsFile none\nStrictHostKeyChecking yes\nUpdateHostKeys no\n\
             BatchMode yes\nControlPath none\nLogLevel ERROR\n",
            self.text(CLIENT_KEY),
            self.text(KNOWN_HOSTS)
        )
    }

    fn server_config(&self) -> String {
        format!(
            "Port {PORT}\nHostKey \"{}\"\nAuthorizedKeysFile \"{}\"\nPidFile none\nUsePAM no\nStrictModes no\n\
             PermitRootLogin yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitUserRC no\n\
             AllowTcpForwarding no\nX11Forwarding no\nAllowAgentForwarding no\nPrintMotd no\nPrintLastLog no\nUseDNS no\n\
             LogLevel ERROR\n",
            self.text(SSHD_KEY),
            self.text(AUTHORIZED)
        )
    }

    fn write(&self, name: &str, text: &str) -> Result<(), LabError> {
        let path = self.file(name);
        fs::write(&path, text).map_err(LabError::file(&path))?;
        fs::set_permissions(&path, Permissions::from_mode(0o600)).map_err(LabError::file(&path))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn text(&self, name: &str) -> String {
        self.file(name).display().to_string()
    }
}

/// The public part of a key of Dropbear's, as OpenSSH writes it.
fn public_of_dropbear(key: &Path) -> Result<String, LabError> {
    let doing = || format!("dropbearkey -y -f {}", key.display());
    let output = std::process::Command::new("dropbearkey").arg("-y").arg("-f").arg(key).output();
    let output = output.map_err(|source| LabError::Start { command: doing(), source })?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| line.starts_with("ssh-"));
    line.map(str::to_owned).ok_or_else(|| LabError::Unfit(format!("{} shows no public key", doing())))
}
