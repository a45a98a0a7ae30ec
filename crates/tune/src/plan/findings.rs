//! Reads what `slowpath diagnose --json` has printed. It may come from anywhere: from its advice only changes are taken that
//! slowpath itself gives about a capture, of settings that it names, with values of their form.

use super::advised::{Advised, Found, Offer, OfferedFix};
use serde::Deserialize;
use slowpath_analyses::{Cause, Confidence};
use slowpath_model::End;
use slowpath_remedies::{Change, Host, Setting, Target};
use std::net::{IpAddr, SocketAddr};

/// The longest document that is read.
pub const MOST_FINDINGS_BYTES: u64 = 64 << 20;
const SCHEMA: &str = "slowpath/diagnosis/1";

/// Why a document cannot be read, with its file and place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{place}: {text}")]
pub struct BadFindings {
    /// The name of the file.
    pub file: String,
    /// `:3`, or `: flows[0].directions[1]`.
    pub place: String,
    /// What is wrong, and what to do.
    pub text: String,
}

// Of each type, the fields that are needed: a version of the schema only gains fields.

#[derive(Deserialize)]
struct Head {
    schema: Option<String>,
}

#[derive(Deserialize)]
struct Document {
    flows: Vec<Flow>,
}

#[derive(Deserialize)]
struct Flow {
    flow: u32,
    a: SocketAddr,
    b: SocketAddr,
    sender: Letter,
    directions: Vec<Direction>,
}

#[derive(Deserialize)]
struct Direction {
    from: Letter,
    findings: Vec<Finding>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Letter {
    A,
    B,
}

#[derive(Deserialize)]
struct Finding {
    cause: String,
    from: Letter,
    share: f64,
    spell_count: u64,
    confidence: Sure,
    advice: Vec<OneAdvice>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Sure {
    Low,
    Medium,
    High,
}

#[derive(Deserialize)]
struct OneAdvice {
    text: String,
    fixes: Vec<OneFix>,
    caution: Option<String>,
}

#[derive(Deserialize)]
struct OneFix {
    host: Where,
    command: String,
    changes: bool,
    undo: Option<String>,
    change: Option<OneChange>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Where {
    Sender,
    Receiver,
    Path,
    Either,
    This,
}

#[derive(Deserialize)]
struct OneChange {
    setting: String,
    then: String,
    target: String,
}

impl From<Letter> for End {
    fn from(letter: Letter) -> Self {
        match letter {
            Letter::A => Self::A,
            Letter::B => Self::B,
        }
    }
}

/// The advice of a document; `file` is its name in errors.
///
/// # Errors
/// If it is no JSON, not what `slowpath diagnose --json` prints, or has a change that slowpath does not advise.
pub fn findings(file: &str, text: &str) -> Result<Vec<Advised>, BadFindings> {
    let bad = |place: String, text: String| BadFindings { file: file.to_owned(), place, text };
    let no_json = |error: serde_json::Error| {
        let what = format!("{error}; write it with this slowpath: slowpath diagnose CAPTURE --json");
        bad(format!(":{}", error.line()), what)
    };
    let head: Head = serde_json::from_str(text).map_err(no_json)?;
    match head.schema.as_deref() {
        Some(SCHEMA) => {}
        Some("slowpath/doctor/1") => {
            return Err(bad(String::new(), "this is what doctor has found; use --doctor".to_owned()));
        }
        other => {
            let other = other.map_or_else(|| "nothing".to_owned(), |other| format!("\"{other}\""));
            let what = format!(
                "schema is {other}; this reads \"{SCHEMA}\", as `slowpath diagnose --json` prints it"
            );
            return Err(bad(String::new(), what));
        }
    }
    let document: Document = serde_json::from_str(text).map_err(no_json)?;
    let mut all = Vec::new();
    for (at, flow) in document.flows.into_iter().enumerate() {
        all.push(advised(flow).map_err(|(place, text)| bad(format!(": flows[{at}]{place}"), text))?);
    }
    Ok(all)
}

type Place = (String, String);

fn advised(flow: Flow) -> Result<Advised, Place> {
    let addresses = [flow.a.ip(), flow.b.ip()];
    let mut findings = Vec::new();
    for (at, direction) in flow.directions.into_iter().enumerate() {
        // As with a capture, the plan is about the direction that the verdict is about.
        if direction.from != flow.sender {
            continue;
        }
        for (number, finding) in direction.findings.into_iter().enumerate() {
            let here = format!(".directions[{at}].findings[{number}]");
            findings
                .push(found(finding, addresses).map_err(|(place, text)| (format!("{here}{place}"), text))?);
        }
    }
    Ok(Advised { flow: flow.flow, addresses, sender: flow.sender.into(), findings })
}

fn found(finding: Finding, addresses: [IpAddr; 2]) -> Result<Found, Place> {
    let cause = Cause::named(&finding.cause);
    let unknown =
        || (".cause".to_owned(), format!("\"{}\" is no cause (`slowpath causes` lists them)", finding.cause));
    let cause = cause.ok_or_else(unknown)?;
    if !(0.0..=1.0).contains(&finding.share) {
        return Err((".share".to_owned(), format!("{} is no share from 0 to 1", finding.share)));
    }
    let from: End = finding.from.into();
    let mut advice = Vec::new();
    for (at, one) in finding.advice.into_iter().enumerate() {
        let mut fixes = Vec::new();
        for (number, fix) in one.fixes.into_iter().enumerate() {
            let fix = offered(fix, from, addresses);
            fixes.push(fix.map_err(|text| (format!(".advice[{at}].fixes[{number}].change"), text))?);
        }
        advice.push(Offer { text: one.text, caution: one.caution, fixes });
    }
    let confidence = match finding.confidence {
        Sure::Low => Confidence::Low,
        Sure::Medium => Confidence::Medium,
        Sure::High => Confidence::High,
    };
    let is_instant = finding.spell_count == 0;
    Ok(Found { cause, from, share: finding.share, is_instant, confidence, advice })
}

fn offered(fix: OneFix, from: End, addresses: [IpAddr; 2]) -> Result<OfferedFix, String> {
    let [sender, receiver] = [from, !from].map(|end| addresses[end.index()]);
    let (host, peer) = match fix.host {
        Where::Sender => (Host::Sender, receiver),
        Where::Receiver => (Host::Receiver, sender),
        Where::Path => (Host::Path, receiver),
        Where::Either => (Host::Either, receiver),
        Where::This => (Host::This, receiver),
    };
    let change = fix.change.map(|change| typed(&change, peer)).transpose()?;
    let OneFix { command, changes, undo, .. } = fix;
    Ok(OfferedFix { host, command, changes, has_undo: undo.is_some(), change })
}

fn typed(change: &OneChange, peer: IpAddr) -> Result<Change, String> {
    let setting: Setting = change.setting.parse().map_err(|error| format!("{error}"))?;
    let target = Target::from_slug(&change.target)
        .ok_or_else(|| format!("\"{}\" is no target: exactly, at-least, at-most or added", change.target))?;
    let then = change.then.clone();
    let change = Change { setting, now: None, then, target };
    if change.is_advised(peer) {
        return Ok(change);
    }
    Err(format!("{} = \"{}\" is nothing that slowpath advises about a capture", change.setting, change.then))
}

#[cfg(test)]
mod tests;
