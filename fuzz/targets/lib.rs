//! Whatever reads what others wrote, with any input: each target takes some bytes, and panics if what was made of them breaks a
//! rule. `tests/` tries them with changed pieces of the corpora; `fuzz/run` has libFuzzer look for more.

mod anonymize;
mod capture;
mod copy;
mod drill;
mod elf;
mod event;
mod far_end;
mod findings;
mod frame;
mod near_end;
mod options;
mod plan;
mod profile;
mod protocol;
mod raw;
mod recording;
mod rows;
mod scenario;
mod script;

/// A target: what it is called, and what tries one input.
pub type Target = (&'static str, fn(&[u8]));

/// All of them. Their corpora are in `corpus/`, by name.
pub const TARGETS: [Target; 19] = [
    ("anonymize", anonymize::try_input),
    ("capture", capture::try_input),
    ("copy", copy::try_input),
    ("drill", drill::try_input),
    ("elf", elf::try_input),
    ("event", event::try_input),
    ("far_end", far_end::try_input),
    ("findings", findings::try_input),
    ("frame", frame::try_input),
    ("near_end", near_end::try_input),
    ("options", options::try_input),
    ("plan", plan::try_input),
    ("profile", profile::try_input),
    ("protocol", protocol::try_input),
    ("raw", raw::try_input),
    ("recording", recording::try_input),
    ("rows", rows::try_input),
    ("scenario", scenario::try_input),
    ("script", script::try_input),
];

/// The target of this name.
pub fn target(name: &str) -> Option<fn(&[u8])> {
    TARGETS.iter().find(|(own, _)| *own == name).map(|(_, check)| *check)
}
