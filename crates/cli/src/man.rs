//! `slowpath man`: one page for the command and its parts, from the same definition as the help.

use clap_mangen::Man;
use std::io::{self, Write};

/// The page, in roff.
pub fn page(mut command: clap::Command) -> io::Result<Vec<u8>> {
    command.build();
    let mut text = Vec::new();
    let whole = Man::new(command.clone());
    whole.render_title(&mut text)?;
    whole.render_name_section(&mut text)?;
    whole.render_synopsis_section(&mut text)?;
    whole.render_description_section(&mut text)?;
    whole.render_options_section(&mut text)?;
    for part in command.get_subcommands().filter(|part| part.get_name() != "help") {
        // A section of its own instead of a page of its own: its options are a subsection there.
        writeln!(text, ".SH {}", part.get_name().to_uppercase())?;
        if let Some(about) = part.get_about() {
            writeln!(text, "{}.", about.to_string().trim_end_matches('.'))?;
        }
        let mut inside = Vec::new();
        let man = Man::new(part.clone());
        man.render_synopsis_section(&mut inside)?;
        man.render_options_section(&mut inside)?;
        man.render_extra_section(&mut inside)?;
        text.extend(
            String::from_utf8_lossy(&inside)
                .replace(".SH EXTRA", ".SS NOTES")
                .replace(".SH ", ".SS ")
                .bytes(),
        );
    }
    whole.render_extra_section(&mut text)?;
    whole.render_version_section(&mut text)?;
    Ok(text)
}
