//! HAProxy, with one thread, answering from memory: it waits with select, poll or epoll as it
//! is told.

use super::{FILES, PORT, STATUS, name};
use crate::web::{Events, Requested, WebCase};

/// Connections at most: select(2) has no descriptor from 1024 on, and each connection may take two.
const CONNECTIONS: u32 = 400;
/// The name of the part that serves.
const SECTION: &str = "web";

/// The configuration, with paths in this folder, which ends with a slash. It reads the file when it starts, and sends it
/// with send(2).
pub(super) fn configuration(folder: &str, case: WebCase, events: Events) -> String {
    let without = match events {
        Events::Epoll => "",
        Events::Poll => "  noepoll\n",
        Events::Select => "  noepoll\n  nopoll\n",
    };
    let answer = match case.requested {
        Requested::FileKib(kib) => format!(
            "  http-request return status 200 content-type application/octet-stream file \"{folder}{FILES}/{0}\" if {{ path /{0} }}\n",
            name(kib)
        ),
        Requested::Mixed => String::new(),
    };
    format!(
        "global\n  nbthread 1\n  maxconn {CONNECTIONS}\n{without}defaults\n  mode http\n  timeout client 60s\n  timeout server 60s\n  \
         timeout connect 60s\nfrontend {SECTION}\n  bind :{PORT} backlog 1024\n  stats enable\n  stats uri {STATUS}\n{answer}"
    )
}

/// The requests in its statistics as CSV: the column `req_tot` of its only frontend.
pub(super) fn requests(answer: &str) -> Option<u64> {
    let mut lines = answer.lines().skip_while(|line| !line.starts_with("# pxname,svname,"));
    let column = lines.next()?.split(',').position(|name| name == "req_tot")?;
    let line = lines.find(|line| line.starts_with(&format!("{SECTION},FRONTEND,")))?;
    line.split(',').nth(column)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::requests;

    #[test]
    fn haproxy_statistics_are_parsed() {
        let answer = "HTTP/1.1 200 OK\r\n\r\n# pxname,svname,qcur,req_tot,\nother,FRONTEND,,1,\nweb,FRONTEND,,34,\nweb,BACKEND,0,,\n";
        assert_eq!(requests(answer), Some(34));
        assert_eq!(requests("HTTP/1.1 404 Not Found\r\n\r\n"), None);
        assert_eq!(requests("# pxname,svname,qcur\nweb,FRONTEND,,34,\n"), None);
    }
}
