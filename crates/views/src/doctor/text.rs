//! The text of `slowpath doctor`: the verdict, the findings, and what could not be read.

use crate::terminal::Look;
use crate::words::sentence;
use slowpath_doctor::host::Unseen;
use slowpath_doctor::{Aim, Finding, Host, Origin, Severity, bound};
use slowpath_model::units::duration_text;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Prints the verdict, each failed check with its fixes, and what could not be read.
///
/// # Errors
/// The errors of `out`.
pub fn print(
    host: &Host,
    aim: &Aim,
    findings: &[Finding],
    look: &Look,
    out: &mut impl Write,
) -> io::Result<()> {
    verdict(aim, findings, look, out)?;
    look.paragraph(out, "", &looked_at(host, aim))?;
    for finding in findings {
        writeln!(out)?;
        print_finding(finding, look, out)?;
    }
    not_seen(host, look, out)
}

fn verdict(aim: &Aim, findings: &[Finding], look: &Look, out: &mut impl Write) -> io::Result<()> {
    let goal = &aim.goal;
    let transfer = format!("A transfer of {} over {}", goal.rate, duration_text(goal.rtt));
    let costs = findings.iter().filter(|finding| matches!(finding.severity, Severity::Costs)).count();
    let hints = findings.iter().filter(|finding| !finding.is_fault()).count();
    let text = match bound(findings) {
        Some((rate, finding)) => {
            let all = findings.iter().filter(|finding| finding.severity.limit().is_some()).count();
            let more = match all {
                1 => String::new(),
                2 => " One more setting would limit it to a higher rate.".to_owned(),
                _ => format!(" {} more settings would limit it to higher rates.", all - 1),
            };
            format!("{transfer} would be limited to about {rate} by this host: {}.{more}", finding.title)
        }
        None if costs > 0 => {
            format!("{transfer} would not be limited by this host, but some settings would slow it down.")
        }
        None if hints > 0 => {
            format!("{transfer} would not be limited by this host; see the hints.")
        }
        None => format!("{transfer} would not be limited by this host."),
    };
    look.strong_paragraph(out, &text)
}

/// The direction that was checked, and the assumptions.
fn looked_at(host: &Host, aim: &Aim) -> String {
    let goal = &aim.goal;
    let names: Vec<&str> = host.interfaces.iter().map(|interface| interface.name.as_str()).collect();
    let to = host.route.as_ref().and_then(|route| route.to);
    let to = to.map_or_else(String::new, |to| format!(" to {to}"));
    let streams =
        if goal.streams == 1 { "one connection".to_owned() } else { format!("{} connections", goal.streams) };
    let rate = match aim.rate_from {
        Origin::FromLink => " The rate is the speed of the link.",
        Origin::Assumed => " The rate is assumed, because the driver reports none; set it with --rate.",
        Origin::Given | Origin::FromMetrics => "",
    };
    let rtt = match aim.rtt_from {
        Origin::FromMetrics => " The RTT is what the kernel remembers of that host.",
        Origin::Assumed => " The RTT is assumed; set it with --rtt.",
        Origin::Given | Origin::FromLink => "",
    };
    let kernel = host.release.as_deref().unwrap_or("of unknown release");
    format!(
        "Examined: Linux {kernel}, the route{to} through {}, {streams}; the bandwidth-delay product is {}.{rate}{rtt}",
        names.join(" on "),
        goal.window()
    )
}

fn print_finding(finding: &Finding, look: &Look, out: &mut impl Write) -> io::Result<()> {
    let severity = match finding.severity {
        Severity::Limits(rate) => look.strong(&format!("limits to about {rate}")),
        Severity::Costs => look.strong("costs"),
        Severity::Hint => look.faint("hint"),
    };
    writeln!(out, "{severity}  {}", look.faint(finding.name()))?;
    look.paragraph(out, "  ", &sentence(&finding.title))?;
    writeln!(out, "  {} {}", look.faint("cause"), finding.check.cause())?;
    writeln!(out, "  {} {}", look.faint("seen"), finding.seen)?;
    look.paragraph(out, "  ", &finding.why)?;
    for fix in &finding.fixes {
        writeln!(out, "    $ {}", fix.command)?;
        if let Some(line) = &fix.undo {
            writeln!(out, "      {} {line}", look.faint("undo:"))?;
        }
        if let Some(line) = &fix.persists {
            writeln!(out, "      {} {line}", look.faint("to persist:"))?;
        }
    }
    look.faint_paragraph(out, "  ", &format!("({})", finding.source))
}

fn not_seen(host: &Host, look: &Look, out: &mut impl Write) -> io::Result<()> {
    if host.unseen.is_empty() {
        return Ok(());
    }
    let mut by_right: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    writeln!(out, "\nNot examined")?;
    for Unseen { what, why, needs } in &host.unseen {
        look.paragraph(out, "  ", &format!("{what}: {why}"))?;
        if let Some(right) = needs {
            by_right.entry(right).or_default().push(what);
        }
    }
    for (right, what) in by_right {
        look.paragraph(out, "", &format!("Root ({right}) can read: {}.", what.join("; ")))?;
    }
    Ok(())
}
