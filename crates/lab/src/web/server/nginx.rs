//! nginx, with one worker.

use super::{FILES, PORT, STATUS};
use crate::web::WebCase;
use std::fmt::Write as _;

/// The configuration, with paths in this folder, which ends with a slash. Open files are cached, as in the paper's server
/// (Flash); nothing is logged.
pub(super) fn configuration(folder: &str, case: WebCase) -> String {
    let sendfile = if case.sendfile { "on" } else { "off" };
    let mut text = format!(
        "daemon off;\nuser root;\nworker_processes 1;\nworker_rlimit_nofile 8192;\npid \"{folder}nginx.pid\";\nerror_log stderr;\n\
         events {{ worker_connections 1024; }}\nhttp {{\n  access_log off;\n  sendfile {sendfile};\n  keepalive_requests {};\n  \
         open_file_cache max=4096;\n",
        case.requests
    );
    // Without these it would write below /var.
    for module in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        // Writing to a String never fails.
        let _ = writeln!(text, "  {module}_temp_path \"{folder}{module}\";");
    }
    let _ = write!(
        text,
        "  server {{\n    listen {PORT} backlog=1024;\n    root \"{folder}{FILES}\";\n    \
         location {STATUS} {{ stub_status; }}\n  }}\n}}\n"
    );
    text
}

/// The requests in the answer of `ngx_http_stub_status_module`.
///
/// ```text
/// server accepts handled requests
///  16630948 16630948 31070465
/// ```
pub(super) fn requests(answer: &str) -> Option<u64> {
    let (_, numbers) = answer.split_once("server accepts handled requests")?;
    let mut numbers = numbers.split_whitespace().map_while(|word| word.parse().ok());
    let (_accepts, _handled): (u64, u64) = (numbers.next()?, numbers.next()?);
    numbers.next()
}

#[cfg(test)]
mod tests {
    use super::requests;

    #[test]
    fn nginx_status_is_parsed() {
        let answer = "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\n\r\nActive connections: 291 \nserver accepts handled requests\n \
                      16630948 16630947 31070465 \nReading: 6 Writing: 179 Waiting: 106 \n";
        assert_eq!(requests(answer), Some(31_070_465));
        for other in ["", "HTTP/1.1 404 Not Found\r\n\r\n", "server accepts handled requests\n 1 2 x"] {
            assert_eq!(requests(other), None, "{other}");
        }
    }
}
