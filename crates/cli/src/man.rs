//! `slowpath man`: a page for each command, as git has it, from the same definitions as the help.

use crate::Outcome;
use crate::console;
use anyhow::Context;
use clap::{Args, Command, ValueHint};
use clap_mangen::Man;
use slowpath_views::help;
use std::fs;
use std::path::PathBuf;

/// Arguments of `man`.
#[derive(Args)]
#[command(after_help = help::MAN)]
pub struct Manual {
    /// The command whose page to print, such as diagnose or profile top; slowpath itself if none is given
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Write the pages of all commands to this folder instead
    #[arg(long, value_name = "DIR", conflicts_with = "command", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
}

/// Prints or writes pages of `command` and its parts.
pub fn run(args: &Manual, command: Command) -> anyhow::Result<Outcome> {
    let mut command = command.disable_help_subcommand(true);
    if let Some(folder) = &args.out {
        let shown = folder.display();
        fs::create_dir_all(folder).with_context(|| format!("{shown}: cannot be made"))?;
        clap_mangen::generate_to(command, folder).with_context(|| format!("{shown}: cannot be written"))?;
        return Ok(Outcome::Whole);
    }
    command.build();
    let mut found = &command;
    for name in &args.command {
        found = found.find_subcommand(name).with_context(|| {
            let parts: Vec<&str> = found.get_subcommands().map(Command::get_name).collect();
            let has = if parts.is_empty() { "no commands".to_owned() } else { parts.join(", ") };
            format!("{} has no command {name}; it has {has}", found.get_name())
        })?;
    }
    let mut page = Vec::new();
    Man::new(found.clone()).render(&mut page)?;
    console::print(&page)
}
