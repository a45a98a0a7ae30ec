//! What changed between 4.18 and 6.18, as scripts: what a kernel did before, and what it does since.

use slowpath_drill::{Config, Modelled, Outcome, Script, Source, run};
use slowpath_kernels::{KernelProfile, Release};

const OPENING: &str = "
0   socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0  bind(3, ..., ...) = 0
+0  listen(3, 1) = 0
+0  < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0  > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 10>
+.1 < . 1:1(0) ack 1 win 257
+0  accept(3, ..., ...) = 4
";

/// Whether a kernel, with 6.18's sysctls, passes a script after the handshake.
fn passes(release: Release, script: &str) -> bool {
    let text = format!("{OPENING}{script}");
    let script =
        Script::parse(&Source::new("older", &text), &Config::default()).unwrap_or_else(|e| panic!("{e}"));
    let profile = KernelProfile { sysctls: Release::Linux6_18.sysctls(), ..release.profile() };
    let outcome = run(&script, &mut Modelled::new(profile, &script.config), &|_| None).outcome;
    if let Outcome::Failed(failure) = &outcome {
        println!("{}: {failure}", release.name());
    }
    outcome == Outcome::Passed
}

/// Each kernel passes the script of its side of the change, and not the other.
fn changed(since: Release, before: &str, after: &str) {
    let all = Release::Linux6_18.lineage();
    for release in all.into_iter().filter(|release| release.lineage().contains(&Release::Linux4_18)) {
        let is_after = release.lineage().contains(&since);
        assert_eq!(passes(release, before), !is_after, "{} and what was before", release.name());
        assert_eq!(passes(release, after), is_after, "{} and what is since", release.name());
    }
}

/// 4.20 (86de5921a3d5): the first three duplicate ACKs are not compressed.
#[test]
fn first_duplicate_acks_are_sent_at_once_since_4_20() {
    let arrivals = "
+0  < . 1:1001(1000) ack 1 win 257
+0  > . 1:1(0) ack 1001
+0  setsockopt(4, SOL_TCP, TCP_QUICKACK, [0], 4) = 0
+.1 < . 2001:3001(1000) ack 1 win 257
+0  < . 3001:4001(1000) ack 1 win 257
+0  < . 4001:5001(1000) ack 1 win 257
";
    let one = "+.001 > . 1:1(0) ack 1001 <nop,nop,sack 2001:5001>\n+.1 close(4) = 0\n+0 > R. 1:1(0) ack 1001 <...>\n";
    let three = "
+0  > . 1:1(0) ack 1001 <nop,nop,sack 2001:3001>
+0  > . 1:1(0) ack 1001 <nop,nop,sack 2001:4001>
+0  > . 1:1(0) ack 1001 <nop,nop,sack 2001:5001>
+.1 close(4) = 0
+0  > R. 1:1(0) ack 1001 <...>
";
    changed(Release::Linux5_14, &format!("{arrivals}{one}"), &format!("{arrivals}{three}"));
}

/// 5.19 (9ad084d66619): a sender that had no data while SACKs came may send it with the next ACK, also if that only
/// reports an arrival.
#[test]
fn proportional_rate_reduction_catches_up_since_5_19() {
    let recovery = |cwnd: u32| {
        let mut script = String::from("+0 write(4, ..., 10000) = 10000\n+0 > P. 1:10001(10000) ack 1\n");
        for end in 2..=9 {
            let after = if end == 2 { ".1" } else { "0" };
            script.push_str(&format!("+{after} < . 1:1(0) ack 1 win 257 <sack 1001:{end}001,nop,nop>\n"));
            if end == 4 {
                script.push_str("+0 > . 1:1001(1000) ack 1\n");
            }
        }
        script.push_str(&format!("+0 %{{ assert tcpi_snd_ssthresh == 7, tcpi_snd_ssthresh; assert tcpi_snd_cwnd == {cwnd}, tcpi_snd_cwnd }}%\n"));
        script
    };
    changed(Release::Linux6_1, &recovery(3), &recovery(7));
}
