//! Reads profiles, and lists their stacks as lines that can be compared.

use slowpath_cost::{Image, Profile};
use slowpath_profile::{Contents, Input, ProfileError, SymbolSources, read};
use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::PathBuf;

/// Reads a profile with this host's programs and kernel.
pub fn read_bytes(bytes: &[u8]) -> Result<Input, ProfileError> {
    // perf records on this host.
    read("test", Cursor::new(bytes), &SymbolSources { root: Some("/".into()), ..SymbolSources::default() })
}

/// Reads a profile with a kernel of two functions and without programs; nothing of this host is read.
pub fn read_apart(bytes: &[u8]) -> Result<Input, ProfileError> {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/profile/data");
    let options =
        SymbolSources { kallsyms: Some(data.join("kallsyms")), root: Some(data), ..SymbolSources::default() };
    read("test", Cursor::new(bytes), &options)
}

/// The profile with stacks.
pub fn profile(input: &Input) -> &Profile {
    match &input.contents {
        Contents::Stacks(profile) => profile,
        Contents::Calls(_) => panic!("{}: no stacks", input.name),
    }
}

/// Each event, task and stack, the outermost function first, with its samples and weight.
pub fn stack_lines(profile: &Profile) -> BTreeMap<String, (u64, u64)> {
    let mut lines = BTreeMap::new();
    for entry in &profile.entries {
        let frames = profile.stacks.frames(entry.stack).iter().rev();
        let frames: Vec<String> = frames
            .map(|frame| {
                let image = match profile.functions.image(frame.function) {
                    Image::Kernel(None) => "kernel".to_owned(),
                    Image::Kernel(Some(module)) => format!("module {module}"),
                    Image::User(file) => file.clone(),
                    Image::Unknown => "?".to_owned(),
                };
                let inlined = if frame.inlined { " inlined" } else { "" };
                format!("{} ({image}){inlined}", profile.functions.name(frame.function))
            })
            .collect();
        let cut = if profile.stacks.is_truncated(entry.stack) { "… " } else { "" };
        let event = &profile.events[usize::from(entry.event)].name;
        let line = format!("{event} {}: {cut}{}", profile.tasks[entry.task as usize], frames.join("; "));
        let seen = lines.insert(line.clone(), (entry.samples, entry.weight));
        assert_eq!(seen, None, "{line} is there twice");
    }
    lines
}
