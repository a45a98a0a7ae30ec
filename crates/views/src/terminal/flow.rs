//! A flow in full: verdict, limits over time, findings with evidence, advice, and what is unknown.

use super::look::{Look, columns, wrap};
use super::palette::colour;
use super::{bar, header};
use crate::diagnosis::Diagnosis;
use crate::headline::main_finding;
use crate::quantity::{counted, duration, from_argument, share};
use crate::words;
use anstyle::{AnsiColor, Style};
use slowpath_analyses::Cause;
use slowpath_analyses::report::{Finding, FlowReport};
use slowpath_model::FlowId;
use slowpath_remedies::{Advice, Host};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Findings with a smaller share are counted, not shown.
const WORTH_A_ROW: f64 = 0.01;
/// Findings with a smaller share have no command to look them up.
const WORTH_A_LOOK: f64 = 0.05;
/// The indentation of evidence.
const EVIDENCE: &str = "          ";

/// The causes that already have advice, and the flow where it was printed: advice is long, and differs between flows
/// only in numbers.
pub(crate) type Advised = BTreeMap<Cause, FlowId>;

/// Writes one flow.
pub(crate) fn write(
    diagnosis: &Diagnosis<'_>,
    flow: &FlowReport,
    advised: &mut Advised,
    look: &Look,
    out: &mut impl io::Write,
) -> io::Result<()> {
    rule(flow, look, out)?;
    let headline = format!("{} {}. {}", words::ends(flow), words::moved(flow), words::verdict(flow));
    look.styled_paragraph(out, "", &headline, Style::new().bold())?;
    if let Some(ending) = words::ending(flow) {
        look.paragraph(out, "", &ending)?;
    }
    if !flow.main().spells.is_empty() {
        writeln!(out)?;
        bar::write(flow, look, out)?;
    }
    let command = words::show_command(diagnosis, flow);
    findings(flow, &command, look, out)?;
    on_the_way(diagnosis, flow, look, out)?;
    advice(diagnosis, flow, advised, look, out)?;
    blind_spots(flow, words::pair(diagnosis, flow).is_some(), look, out)
}

/// `── flow 3 ─────`
fn rule(flow: &FlowReport, look: &Look, out: &mut impl io::Write) -> io::Result<()> {
    let title = format!("── flow {} ", flow.id);
    let rest = look.text_width().saturating_sub(columns(&title));
    writeln!(out, "{}", look.faint(&format!("{title}{}", "─".repeat(rest))))
}

fn findings(
    flow: &FlowReport,
    command: &Option<String>,
    look: &Look,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let all = &flow.main().findings;
    if all.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    writeln!(out, "{}", look.faint("   share       time  sure    limited by"))?;
    let (rows, small): (Vec<&Finding>, Vec<&Finding>) =
        all.iter().partition(|finding| finding.share >= WORTH_A_ROW || finding.spells == 0 || all.len() == 1);
    // What two findings have as evidence is said once.
    let mut said = BTreeSet::new();
    for finding in rows {
        row(finding, look, out)?;
        for evidence in &finding.evidence {
            let text = words::sentence(&words::evidence(evidence));
            if !said.contains(&text) {
                look.paragraph(out, EVIDENCE, &text)?;
                said.insert(text);
            }
        }
        let look_up = command.as_ref().filter(|_| finding.share >= WORTH_A_LOOK || finding.spells == 0);
        if let (Some(command), Some(at)) = (look_up, finding.instants.first()) {
            let line = format!("{command} --from {}", from_argument(*at));
            writeln!(out, "{EVIDENCE}{}", look.faint(&line))?;
        }
    }
    if !small.is_empty() {
        let part: f64 = small.iter().map(|finding| finding.share).sum();
        let text = format!("{} below 1 %", counted(small.len() as u64, "other cause"));
        writeln!(out, "{:>8}  {:>9}  {:<6}  {text}", share(part), "", "")?;
    }
    if let Some(text) = words::repetition(flow) {
        writeln!(out)?;
        look.paragraph(out, "  ", &format!("{text}."))?;
    }
    Ok(())
}

fn row(finding: &Finding, look: &Look, out: &mut impl io::Write) -> io::Result<()> {
    let style = Style::new().fg_color(Some(colour(finding.cause.limit())));
    let sure = finding.confidence.slug();
    let (part, lasted) = match finding.spells {
        0 => ("–".to_owned(), "–".to_owned()),
        _ => (share(finding.share), duration(finding.lasted)),
    };
    let lead = format!("{part:>8}  {lasted:>9}  {sure:<6}  ");
    let title = format!("{}: {}", finding.cause.limit().title(), finding.cause.title());
    let lines = wrap(&title, look.text_width().saturating_sub(columns(&lead)).max(20));
    for (number, line) in lines.iter().enumerate() {
        let lead = if number == 0 { lead.clone() } else { " ".repeat(columns(&lead)) };
        writeln!(out, "{lead}{}", look.paint(style.bold(), line))?;
    }
    Ok(())
}

/// What the second recording adds.
fn on_the_way(
    diagnosis: &Diagnosis<'_>,
    flow: &FlowReport,
    look: &Look,
    out: &mut impl io::Write,
) -> io::Result<()> {
    points("Between the two captures", &words::on_the_way(diagnosis, flow), look, out)
}

/// The most findings with advice.
const MOST_ADVISED: usize = 3;

fn advice(
    diagnosis: &Diagnosis<'_>,
    flow: &FlowReport,
    advised: &mut Advised,
    look: &Look,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let Some(main) = main_finding(flow) else { return Ok(()) };
    let others = flow.main().findings.iter().filter(|finding| finding.cause != main.cause);
    let worth = others
        .filter(|finding| finding.spells == 0 || finding.share >= WORTH_A_LOOK && finding.cause.is_loss());
    for (place, finding) in [main].into_iter().chain(worth).take(MOST_ADVISED).enumerate() {
        let before = advised.get(&finding.cause).copied();
        let mut advices = (diagnosis.advise)(finding, flow);
        // All advice for the headline's finding, and the most helpful for others.
        advices.truncate(if place == 0 { advices.len() } else { 1 });
        if place == 0 {
            writeln!(out)?;
            let title = if finding.cause.is_loss() { "What would help" } else { "What to do" };
            writeln!(out, "{}", look.strong(title))?;
        }
        if advices.is_empty() {
            continue;
        }
        look.styled_paragraph(out, "  ", &heading(finding, before), Style::new().underline())?;
        for advice in &advices {
            one_advice(advice, before.is_none(), look, out)?;
        }
        advised.entry(finding.cause).or_insert(flow.id);
    }
    Ok(())
}

/// The heading of advice: its cause, and where to read more.
fn heading(finding: &Finding, before: Option<FlowId>) -> String {
    let title = finding.cause.title();
    let about = match finding.spells {
        0 => title.to_owned(),
        _ => format!("{title} ({})", share(finding.share)),
    };
    match before {
        Some(flow) => format!("{about}; commands as at flow {flow}"),
        None => format!("{about}; explained by: slowpath causes {}", finding.cause),
    }
}

fn one_advice(advice: &Advice, whole: bool, look: &Look, out: &mut impl io::Write) -> io::Result<()> {
    look.paragraph(out, "  • ", &advice.text)?;
    if !whole {
        return Ok(());
    }
    let mut before = None;
    for fix in &advice.fixes {
        let place = (fix.host, fix.needs);
        if before.replace(place) != Some(place) {
            let whose = match fix.host {
                Host::Sender => "on the sender",
                Host::Receiver => "on the receiver",
                Host::Path => "on the device in front of the bottleneck",
                Host::Either => "on either end",
                Host::This => "on this host",
            };
            let needs = fix.needs.map_or_else(String::new, |needs| format!(", as {needs}"));
            look.styled_paragraph(out, "    ", &format!("{whose}{needs}:"), Style::new().dimmed())?;
        }
        writeln!(out, "      {}", look.paint(AnsiColor::Cyan.on_default(), &fix.command))?;
        look.styled_paragraph(out, "        # ", &fix.effect, Style::new().dimmed())?;
        if let Some(undo) = &fix.undo {
            writeln!(out, "        {}", look.faint(&format!("# undo: {undo}")))?;
        }
    }
    match &advice.caution {
        Some(caution) => look.styled_paragraph(out, "    ! ", caution, header::WARNING),
        None => Ok(()),
    }
}

fn blind_spots(flow: &FlowReport, both_ends: bool, look: &Look, out: &mut impl io::Write) -> io::Result<()> {
    writeln!(out)?;
    look.paragraph(out, "", &words::vantage_sentence(flow))?;
    points("What this capture cannot show", &words::blind_spots(flow, both_ends), look, out)
}

/// A heading with a bullet for each sentence; nothing without sentences.
fn points(heading: &str, sentences: &[String], look: &Look, out: &mut impl io::Write) -> io::Result<()> {
    if sentences.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    writeln!(out, "{}", look.strong(heading))?;
    for sentence in sentences {
        look.paragraph(out, "  • ", sentence)?;
    }
    Ok(())
}
