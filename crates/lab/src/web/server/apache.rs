//! Apache with its event MPM: one process, as nginx has one worker.

use super::{FILES, PORT, STATUS};
use crate::web::WebCase;

/// Where Debian has its modules.
const MODULES: &str = "/usr/lib/apache2/modules";
/// Threads of the process: Debian's `MaxRequestWorkers`, and more than the client has connections. With fewer, 2.4 stops
/// accepting after a while (AH00484).
const THREADS: u32 = 150;
/// The user and group nobody: Apache does not serve as root.
const NOBODY: &str = "#65534";

/// The configuration, with paths in this folder, which ends with a slash. Files are opened for each request, as Apache
/// does by default.
pub(super) fn configuration(folder: &str, case: WebCase) -> String {
    let sendfile = if case.sendfile { "On" } else { "Off" };
    let mut text = String::new();
    for module in ["mpm_event", "authz_core", "status"] {
        text += &format!("LoadModule {module}_module {MODULES}/mod_{module}.so\n");
    }
    text += &format!(
        "ServerRoot \"{folder}\"\nDefaultRuntimeDir \"{folder}\"\nPidFile \"{folder}apache2.pid\"\nServerName lab\n\
         ErrorLog /dev/stderr\nLogLevel error\nListen {PORT}\nListenBacklog 1024\nUser {NOBODY}\nGroup {NOBODY}\n\
         ServerLimit 1\nStartServers 1\nThreadLimit {THREADS}\nThreadsPerChild {THREADS}\nMaxRequestWorkers {THREADS}\n\
         MinSpareThreads 1\nMaxSpareThreads {THREADS}\nMaxConnectionsPerChild 0\n\
         KeepAlive On\nMaxKeepAliveRequests {}\nKeepAliveTimeout 60\nEnableSendfile {sendfile}\nEnableMMAP Off\n\
         ExtendedStatus On\nDocumentRoot \"{folder}{FILES}\"\n\
         <Directory />\n  AllowOverride None\n  Options FollowSymLinks\n  Require all granted\n</Directory>\n\
         <Location {STATUS}>\n  SetHandler server-status\n</Location>\n",
        case.requests
    );
    text
}

/// The requests in the answer of mod_status, without HTML: `Total Accesses: 1234`.
pub(super) fn requests(answer: &str) -> Option<u64> {
    answer.lines().find_map(|line| line.strip_prefix("Total Accesses:")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::requests;

    #[test]
    fn apache_status_is_parsed() {
        let answer = "HTTP/1.1 200 OK\r\nServer: Apache/2.4.71\r\n\r\nlab\nServerVersion: Apache/2.4.71\nTotal Accesses: 812\n\
                      Total kBytes: 99\n";
        assert_eq!(requests(answer), Some(812));
        assert_eq!(requests("HTTP/1.1 404 Not Found\r\n\r\n"), None);
    }
}
