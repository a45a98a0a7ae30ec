//! An FTP transfer: who logs in, what a path store knows, and the options as text.

use crate::paths::answers;
use crate::values::size;
use slowpath_files::{Existing, SecretError, open_secret};
use slowpath_ftp::netrc::{Login, Secret, login};
use slowpath_ftp::place::{NoPlace, Place, place};
use slowpath_ftp::real::{AskStore, Wanted};
use slowpath_ftp::report::Direction;
use slowpath_ftp::{Basis, PathValues, Tuning};
use std::env;
use std::io::{self, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// The variable with the password.
const PASSWORD: &str = "SLOWPATH_FTP_PASSWORD";
/// The longest netrc file that is read.
const MOST_NETRC: u64 = 1 << 20;

/// Why a transfer cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum NotBegun {
    /// The URL is none.
    #[error(transparent)]
    Place(#[from] NoPlace),
    /// Both ends are servers.
    #[error(
        "a transfer between two servers moves on the path between them, which this host can neither measure nor size \
         buffers for; get the file to this host first, or run slowpath on one of the two"
    )]
    ThirdParty,
    /// The netrc file cannot be used.
    #[error(transparent)]
    Netrc(#[from] SecretError),
}

/// What a user asks for.
pub struct Asked<'a> {
    /// The direction.
    pub direction: Direction,
    /// The file at the server.
    pub url: &'a str,
    /// The file here; `None` for the URL's name in the current folder.
    pub file: Option<&'a Path>,
    /// What to do with a destination that exists.
    pub existing: Existing,
    /// Who sizes the buffers.
    pub tuning: Tuning,
    /// Whether the server opens the data connection.
    pub active: bool,
    /// The netrc file; `None` for the user's.
    pub netrc: Option<&'a Path>,
}

/// A transfer with everything that it needs.
///
/// # Errors
/// If the URL is none, both ends are servers, or the netrc file cannot be read.
pub fn wanted<'a>(asked: &Asked<'_>, store: AskStore<'a>) -> Result<Wanted<'a>, NotBegun> {
    let is_url = |file: &Path| file.to_str().is_some_and(|text| text.starts_with("ftp://"));
    if asked.file.is_some_and(is_url) {
        return Err(NotBegun::ThirdParty);
    }
    let place = place(asked.url)?;
    let file = match asked.file {
        Some(folder) if folder.is_dir() => folder.join(place.name()),
        Some(file) => file.to_owned(),
        None => PathBuf::from(place.name()),
    };
    Ok(Wanted {
        direction: asked.direction,
        login: login_of(&place, asked.netrc)?,
        place,
        file,
        existing: asked.existing,
        tuning: asked.tuning,
        store,
        active: asked.active,
    })
}

/// The login: the URL's, or with the password of the environment, or of the netrc file; else anonymous (RFC 1635).
fn login_of(place: &Place, netrc: Option<&Path>) -> Result<Login, NotBegun> {
    if let Some((user, password)) = place.user.clone().zip(place.password.clone()) {
        return Ok(Login { user, password });
    }
    if let Some((user, password)) = place.user.clone().zip(env::var(PASSWORD).ok()) {
        return Ok(Login { user, password: Secret::new(password) });
    }
    let found = netrc_text(netrc)?.and_then(|text| login(&text, &place.host, place.user.as_deref()));
    let anonymous = || Login {
        user: place.user.clone().unwrap_or_else(|| "anonymous".to_owned()),
        password: Secret::new("anonymous@".to_owned()),
    };
    Ok(found.unwrap_or_else(anonymous))
}

/// The text of the netrc file, if there is one. One that was named has to exist.
fn netrc_text(named: Option<&Path>) -> Result<Option<String>, NotBegun> {
    let usual = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".netrc"));
    let Some(file) =
        named.map(Path::to_owned).or_else(|| env::var_os("NETRC").map(PathBuf::from)).or_else(usual)
    else {
        return Ok(None);
    };
    let opened = match open_secret(&file) {
        Err(SecretError::File { source, .. })
            if named.is_none() && source.kind() == io::ErrorKind::NotFound =>
        {
            return Ok(None);
        }
        opened => opened?,
    };
    let mut text = String::new();
    let read = opened.take(MOST_NETRC).read_to_string(&mut text);
    read.map_err(|source| SecretError::File { path: file, source })?;
    Ok(Some(text))
}

/// Asks a path store for the path from one address to another.
pub fn known(store: &Path) -> impl Fn(IpAddr, IpAddr) -> Result<PathValues, String> {
    move |from, to| {
        let (from, to) = (from.to_string(), to.to_string());
        let fix = "; measure it with `slowpath paths measure`, or learn it from a capture with `slowpath paths import`";
        let all = answers(store, Some(&to), Some(&from), 1).map_err(|error| format!("{error}{fix}"))?;
        let known = all.iter().find_map(|answer| Some((answer.rtt()?, answer.expected_rate()?)));
        let (rtt, rate) =
            known.ok_or_else(|| format!("{from} → {to}: no trusted RTT and rate are known{fix}"))?;
        Ok(PathValues { rtt, rate, basis: Basis::Store })
    }
}

/// Who sizes the buffers.
///
/// # Errors
/// What to write instead.
pub fn tuning(text: &str) -> Result<Tuning, String> {
    match text {
        "kernel" => Ok(Tuning::Kernel),
        "auto" => Ok(Tuning::Auto),
        "drs" => Ok(Tuning::Drs),
        "paths" => Ok(Tuning::Known),
        _ => Err("write kernel, auto, drs or paths".to_owned()),
    }
}

/// The size of both buffers.
///
/// # Errors
/// What to write instead.
pub fn buffer(text: &str) -> Result<Tuning, String> {
    match size(text)? {
        0 => Err("write a size of at least 1B".to_owned()),
        bytes => Ok(Tuning::Fixed(bytes.into())),
    }
}
