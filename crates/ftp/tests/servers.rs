//! The client against the FTP servers of the distribution, between two namespaces. `tools/ftp-servers` unpacks them.

use slowpath_files::Existing;
use slowpath_ftp::netrc::{Login, Secret};
use slowpath_ftp::place::place;
use slowpath_ftp::real::{Wanted, transfer};
use slowpath_ftp::report::{Direction, Report, ServerBuffer};
use slowpath_ftp::{FtpError, Tuning};
use slowpath_lab::namespaces::{Namespaces, Place as At};
use slowpath_lab::scratch::Scratch;
use slowpath_lab::settings::{Family, Settings};
use slowpath_lab::{testbed, wire};
use std::fs::{self, Permissions};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Larger than what Auto-ncFTP measures with.
const LONG: usize = 12 << 20;
/// The user that pure-ftpd writes as.
const NOBODY: u32 = 65_534;

#[derive(Clone, Copy)]
enum Server {
    Vsftpd,
    PureFtpd,
    Proftpd,
}

impl Server {
    fn program(self) -> PathBuf {
        let path = match self {
            Self::Vsftpd => "vsftpd/usr/sbin/vsftpd",
            Self::PureFtpd => "pure-ftpd/usr/sbin/pure-ftpd",
            Self::Proftpd => "proftpd-core/usr/sbin/proftpd",
        };
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../out/ftp-servers").join(path)
    }

    /// The command that serves `folder` to an anonymous user, or to `test` with the password `secret`.
    fn command(self, namespaces: &Namespaces, folder: &Path, at: &str) -> Command {
        let mut command = namespaces.command(At::Receiver, self.program().to_str().expect("text"));
        let configuration = folder.join("conf");
        let root = folder.join("root");
        let (shown, empty) = (root.display(), folder.join("empty"));
        match self {
            Self::Vsftpd => {
                let listen = if at.contains(':') { "listen=NO\nlisten_ipv6=YES" } else { "listen=YES" };
                let text = format!(
                    "{listen}\nanonymous_enable=YES\nlocal_enable=NO\nanon_root={shown}\nwrite_enable=YES\n\
                     anon_upload_enable=YES\nanon_other_write_enable=YES\nanon_umask=022\nno_anon_password=YES\n\
                     allow_writeable_chroot=YES\nsecure_chroot_dir={}\nftp_username=daemon\nseccomp_sandbox=NO\n\
                     background=NO\nconnect_from_port_20=NO\n",
                    empty.display()
                );
                fs::write(&configuration, text).expect("a file");
                command.arg(&configuration);
            }
            Self::Proftpd => {
                let modules = self.program().with_file_name("../lib/proftpd");
                let text = format!(
                    "ServerType standalone\nPort 21\nUser nobody\nGroup nogroup\nUseReverseDNS off\nUseIPv6 on\n\
                     ModulePath {}\nScoreboardFile {}\nPidFile {}\nRequireValidShell off\nAllowStoreRestart on\n\
                     AllowRetrieveRestart on\nAuthPAM off\n<Anonymous {shown}>\nUser nobody\nGroup nogroup\n\
                     UserAlias anonymous nobody\nAllowOverwrite on\nAllowStoreRestart on\n</Anonymous>\n",
                    modules.display(),
                    folder.join("score").display(),
                    folder.join("pid").display()
                );
                fs::write(&configuration, text).expect("a file");
                command.args(["-n", "-c"]).arg(&configuration);
            }
            Self::PureFtpd => {
                let (users, database) = (folder.join("users"), folder.join("users.pdb"));
                let tool = self.program().with_file_name("../bin/pure-pw");
                // Its password is hashed as for ten thousand logins at once. By default, each login takes seconds of CPU time.
                let line = format!(
                    "printf 'secret\\nsecret\\n' | {0} useradd test -f {1} -u {NOBODY} -g {NOBODY} -d {shown} \
                     -C 10000 -M 100000 && {0} mkdb {2} -f {1}",
                    tool.display(),
                    users.display(),
                    database.display()
                );
                let made = Command::new("sh").args(["-c", &line]).output().expect("sh");
                assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
                // No names are looked up: there is no resolver.
                command.args(["-E", "-H", "-u", "1", "-S", &format!("{at},21")]);
                command.arg("-l").arg(format!("puredb:{}", database.display()));
            }
        }
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn login(self) -> Login {
        let (user, password) = match self {
            Self::PureFtpd => ("test", "secret"),
            Self::Vsftpd | Self::Proftpd => ("anonymous", "me@example.org"),
        };
        Login { user: user.to_owned(), password: Secret::new(password.to_owned()) }
    }
}

/// Two hosts, with a server on one.
struct Hosts {
    namespaces: Namespaces,
    scratch: Scratch,
    server: Server,
    at: String,
    child: Child,
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn contents(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8 ^ (at >> 12) as u8).collect()
}

impl Hosts {
    fn with(server: Server, family: Family) -> Self {
        let mut settings = Settings::plain();
        settings.family = family;
        let (namespaces, hosts) = testbed::build(&settings).expect("as root");
        wire::bridge(&namespaces).expect("a bridge");
        let scratch = Scratch::create().expect("a folder");
        let folder = scratch.file("server");
        for name in ["", "root", "root/pub", "empty"] {
            fs::create_dir(folder.join(name)).expect("a folder");
            fs::set_permissions(folder.join(name), Permissions::from_mode(0o755)).expect("its mode");
        }
        // The folder for temporary files is this user's alone.
        fs::set_permissions(folder.parent().expect("one"), Permissions::from_mode(0o755)).expect("its mode");
        // Each server writes as a user of its own.
        fs::set_permissions(folder.join("root/pub"), Permissions::from_mode(0o777)).expect("its mode");
        fs::write(folder.join("root/pub/long"), contents(LONG)).expect("a file");
        let at = hosts.receiver.to_string();
        let child = server.command(&namespaces, &folder, &at).spawn().expect("it starts");
        let hosts = Self { namespaces, scratch, server, at, child };
        hosts.wait();
        hosts
    }

    fn wait(&self) {
        let to = (self.at.parse::<std::net::IpAddr>().expect("an address"), 21).into();
        for _ in 0..100 {
            let connected = self
                .namespaces
                .inside(At::Sender, || Ok(TcpStream::connect_timeout(&to, Duration::from_secs(1))));
            if connected.expect("a thread").is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the server does not listen");
    }

    fn there(&self, name: &str) -> PathBuf {
        self.scratch.file("server").join("root/pub").join(name)
    }

    fn transfer(
        &self,
        direction: Direction,
        here: &str,
        there: &str,
        tuning: Tuning,
        active: bool,
    ) -> Result<Report, FtpError> {
        let host = if self.at.contains(':') { format!("[{}]", self.at) } else { self.at.clone() };
        let wanted = Wanted {
            direction,
            place: place(&format!("ftp://{host}/pub/{there}")).expect("a URL"),
            file: self.scratch.file(here),
            existing: Existing::Keep,
            login: self.server.login(),
            tuning,
            store: &|_, _| Err("there is no store".to_owned()),
            active,
        };
        let result = self.namespaces.inside(At::Sender, || Ok(transfer(&wanted, &|| false, &mut |_| ())));
        result.expect("a thread")
    }

    /// Every technique, in both directions, passive and active.
    fn serve_everything(&self) {
        let whole = contents(LONG);
        fs::write(self.scratch.file("source"), &whole).expect("a file");
        for (n, tuning) in
            [Tuning::Kernel, Tuning::Auto, Tuning::Drs, Tuning::Fixed(1 << 20)].into_iter().enumerate()
        {
            for active in [false, true] {
                let (here, there) = (format!("got-{n}-{active}"), format!("put-{n}-{active}"));
                let report =
                    self.transfer(Direction::Get, &here, "long", tuning, active).expect("it is fetched");
                assert!(fs::read(self.scratch.file(&here)).expect("the file") == whole, "{tuning:?}");
                assert_eq!(report.amount.get(), LONG as u64);
                assert!(
                    matches!(report.server, ServerBuffer::Unasked | ServerBuffer::NotOffered),
                    "{report:?}"
                );
                let stored =
                    self.transfer(Direction::Put, "source", &there, tuning, active).expect("it is stored");
                assert_eq!(stored.direction, Direction::Put);
                assert!(fs::read(self.there(&there)).expect("the file") == whole, "{tuning:?}");
            }
        }
        let again = self.transfer(Direction::Put, "source", "put-0-false", Tuning::Kernel, false);
        assert!(matches!(again, Err(FtpError::Exists(_))), "{again:?}");
        let missing = self.transfer(Direction::Get, "none", "none", Tuning::Kernel, false);
        let text = missing.expect_err("there is none").to_string();
        assert!(
            text.contains("RETR pub/none") && text.contains("550") && text.contains("check the path"),
            "{text}"
        );
        assert!(!self.scratch.file("none").exists());
    }

    /// What an interrupted transfer left is not transferred again.
    fn continue_one(&self) {
        let whole = contents(LONG);
        let half = LONG / 2;
        // The time as MDTM has it.
        let out = Command::new("date")
            .args(["-u", "+%Y%m%d%H%M%S", "-r"])
            .arg(self.there("long"))
            .output()
            .expect("date");
        let time = String::from_utf8(out.stdout).expect("text");
        let partial = format!(".slowpath-partial-again-{LONG}-{}", time.trim());
        fs::write(self.scratch.file(&partial), &whole[..half]).expect("a file");
        let report =
            self.transfer(Direction::Get, "again", "long", Tuning::Kernel, false).expect("it is fetched");
        assert!(fs::read(self.scratch.file("again")).expect("the file") == whole);
        assert_eq!(report.moved.get(), (LONG - half) as u64);
        assert!(!self.scratch.file(&partial).exists());
    }
}

/// Runs all of it against a server, if it is here.
fn judge(name: &str, server: Server, family: Family) {
    if !server.program().exists() {
        println!("not judged: {name}: the server is not here; tools/ftp-servers gets it");
        return;
    }
    let hosts = Hosts::with(server, family);
    hosts.serve_everything();
    hosts.continue_one();
}

#[test]
#[ignore = "needs root, waits"]
fn vsftpd() {
    judge("vsftpd", Server::Vsftpd, Family::V4);
}

#[test]
#[ignore = "needs root, waits"]
fn vsftpd_over_ipv6() {
    judge("vsftpd_over_ipv6", Server::Vsftpd, Family::V6);
}

#[test]
#[ignore = "needs root, waits"]
fn pure_ftpd() {
    judge("pure_ftpd", Server::PureFtpd, Family::V4);
}

#[test]
#[ignore = "needs root, waits"]
fn proftpd() {
    judge("proftpd", Server::Proftpd, Family::V4);
}
