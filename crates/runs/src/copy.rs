//! A copy between two hosts: its options as text, and the far end that serves.

use crate::lines::{Log, listening};
use crate::values::size;
use slowpath_copy::CopyError;
use slowpath_copy::protocol::Tuning;
use slowpath_copy::real::far::Server;
use std::fs;
use std::io::Read;
use std::net::SocketAddr;
use std::path::Path;

/// The longest token file: what is longer is some other file.
const MOST_TOKEN: u64 = 4096;

/// Reads a token: the first line of a file that nobody else may read.
///
/// # Errors
/// If it cannot be read, others may read it, or it has no token.
pub fn token(file: &Path) -> Result<Vec<u8>, CopyError> {
    let failed = |source| CopyError::File { path: file.to_owned(), source };
    let unfit = |what| CopyError::Unfit { path: file.to_owned(), what };
    let opened = slowpath_files::open_regular(file).map_err(failed)?;
    if !slowpath_files::is_private(&opened.metadata().map_err(failed)?) {
        return Err(unfit("others may read this token; chmod 600 it"));
    }
    let mut text = Vec::new();
    opened.take(MOST_TOKEN).read_to_end(&mut text).map_err(failed)?;
    match text.split(|byte| *byte == b'\n').next() {
        Some(line) if !line.is_empty() => Ok(line.to_vec()),
        _ => Err(unfit("it has no token in its first line")),
    }
}

/// Who sizes the buffers.
///
/// # Errors
/// What to write instead.
pub fn tuning(text: &str) -> Result<Tuning, String> {
    match text {
        "kernel" => Ok(Tuning::Kernel),
        "drs" => Ok(Tuning::Drs),
        _ => Err("write kernel or drs".to_owned()),
    }
}

/// The size of both buffers.
///
/// # Errors
/// What to write instead.
pub fn buffer(text: &str) -> Result<u32, String> {
    match size(text)? {
        0 => Err("write a size of at least 1B".to_owned()),
        bytes => Ok(bytes),
    }
}

/// Serves a folder until a stop is requested; `say` gets a line about each copy, as far as there are not too many. Without
/// a token, a new one is made and said.
///
/// # Errors
/// If it cannot listen there, or the folder cannot be opened.
pub fn serve(
    listen: SocketAddr,
    folder: &Path,
    token: Option<Vec<u8>>,
    has_ended: &(dyn Fn() -> bool + Sync),
    say: &(dyn Fn(&str) + Sync),
) -> Result<(), CopyError> {
    let (token, is_new) = match token {
        Some(token) => (token, false),
        None => (Server::new_token()?.into_bytes(), true),
    };
    let server = Server::bind(listen, folder, &token)?;
    let at = server.address()?;
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let at = listening(at);
    say(&format!("Serving {} on {at}, to clients that have the token. Ctrl-C stops it.", folder.display()));
    if is_new {
        say(&format!("Token: {}", String::from_utf8_lossy(&token)));
    }
    let log = Log::new(say);
    server.run(has_ended, &|client, why| {
        log.line(|| why.map_or_else(|| format!("{client}: copied"), |why| format!("{client}: {why}")));
    });
    log.end();
    Ok(())
}
