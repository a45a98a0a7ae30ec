//! The file that `slowpath scenario new` writes.

/// A scenario to start from: the most commonly changed keys, with their defaults or near them, and comments.
pub fn template(name: &str) -> String {
    // No character of a name can end the TOML string early.
    let name: String = name.chars().filter(|c| !c.is_control() && *c != '"' && *c != '\\').collect();
    TEMPLATE.replace("NAME", &name)
}

const TEMPLATE: &str = r#"# Describe here what this scenario shows.
#
# slowpath scenario check FILE     reports all errors
# slowpath scenario explain FILE   shows every value, and the source of each default
# slowpath run FILE                runs it
#
# Everything has a default. All keys: docs/src/scenario-reference.md, or the handbook's page "Scenario files".

title = "NAME"
duration = "10 s"
seed = 1

# The path between sender and receiver, in both directions unless [path.forward] or [path.reverse] overrides a value.
[path]
rate = "100 Mbit/s"
delay = "20 ms"         # one way: the RTT is 40 ms
queue = "1 bdp"         # or "1000 packets", or "1 MiB"

[path.forward]
# loss = "0.1 %"
# reorder = "1 %"
# reorder-by = "5 ms"

# What is transferred: bulk data until the end, or amount = "1 GiB", [flows.messages], [flows.requests] or
# [flows.datagrams].
[flows]
streams = 1

# [flows.receiver]
# rate = "10 Mbit/s"                          # a slow reader
# socket = { SO_RCVBUF = "256 KiB" }

# The hosts. `slowpath kernels` lists the kernels.
[hosts.sender]
kernel = "6.18"

[hosts.receiver]
kernel = "6.18"
# cpus = 1
# load = { hogs = 4, nice = 0 }
# sysctl = { tcp_rmem = "4096 131072 6291456" }
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::check;

    #[test]
    fn template_is_a_valid_scenario_for_any_name() {
        for name in ["my-path", "", "\"]\n\\", "日本"] {
            if let Err(error) = check("x.toml", &template(name), &[], None) {
                panic!("{error}");
            }
        }
    }
}
