//! The reference page of the file format, made from the declarations of the keys.

use crate::costs::{COSTS, Cost};
use crate::machines::{MACHINES, machine};
use crate::read::SECTIONS;
use crate::schema::{Describe, Fallback, Section};
use slowpath_kernels::{choices, registry, sysctls};
use std::fmt::Write;

const HEAD: &str = "\
# Scenario files

<!-- Made by `cargo run -p slowpath-scenario --example scenario-reference`; what is changed here is lost. -->

A scenario is a run of hosts, the paths between them and what they transfer, as a TOML file. Everything has a default: an
empty file is a scenario. `slowpath scenario new` writes a file to begin with, `slowpath scenario check FILE` says \
everything that is wrong with one, and `slowpath scenario explain FILE` what the run will be, value by value.

Units are mandatory: times in `ns`, `us`, `ms`, `s`, `min` or `h`; amounts of data in `B`, `KiB`, `MiB`, `GiB`, `kB`, \
`MB` or `GB`; rates in `bit/s`, `kbit/s`, `Mbit/s`, `Gbit/s` or `Tbit/s`; chances in `%` or `ppm`. Whole numbers of \
things that have no unit are written without quotes.

On the command line, `--set KEY=VALUE` takes the place of a value of the file: `--set path.delay=50ms`, \
`--set hosts.receiver.cpus=1`, `--set flows.streams=8`. Of several flows or paths all are meant, or one by its number \
from 0 or its name: `--set flows.1.streams=8`, `--set flows.upload.streams=8`.
";

/// The page.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    for section in SECTIONS {
        write_section(&mut page, section);
    }
    write_machines(&mut page);
    write_kernels(&mut page);
    page
}

fn write_section(page: &mut String, section: &Section) {
    let heading = if section.heading.is_empty() { "The run".to_owned() } else { code_list(section.heading) };
    let _ = write!(page, "\n## {heading}\n\n{}\n", section.meaning);
    page.push_str("\n| key | what it says | value | range | default |\n| --- | --- | --- | --- | --- |\n");
    for key in section.keys {
        let row = [
            format!("`{}`", key.name()),
            key.meaning().to_owned(),
            key.form(),
            key.range().map(|(least, most)| format!("{least} … {most}")).unwrap_or_default(),
            fallback(*key),
        ];
        let _ = writeln!(page, "| {} |", row.map(|cell| cell.replace('|', "\\|")).join(" | "));
    }
    if let Some(also) = section.also {
        let _ = write!(page, "\nEvery key of {} can stand here too.\n", code_list(also.heading));
    }
}

fn fallback(key: &dyn Describe) -> String {
    let because = |text: String| match key.source() {
        "" | "none" => text,
        source => format!("{text} ({source})"),
    };
    match key.fallback() {
        None => String::new(),
        Some(Fallback::Required) => "must be written".to_owned(),
        Some(Fallback::Is("")) => "empty".to_owned(),
        Some(Fallback::Is(text)) => because(format!("`{text}`")),
        Some(Fallback::Computed(words)) => because(words.to_owned()),
        Some(Fallback::Absent(words)) => format!("– {words}"),
    }
}

/// Headings, each as code.
fn code_list(headings: &str) -> String {
    headings.split(", ").map(|heading| format!("`{heading}`")).collect::<Vec<_>>().join(", ")
}

fn write_machines(page: &mut String) {
    page.push_str(
        "\n## Machines\n\nCPU time of one piece of the kernel's work, by machine. Only their order is right: a testbed \
         whose throughput is\nknown fits its own, in `[hosts.NAME.costs]`.\n\n",
    );
    let machines: Vec<_> = MACHINES.iter().filter_map(|name| machine(name)).collect();
    let _ = writeln!(page, "| cost | of what | {} |", MACHINES.join(" | "));
    let _ = writeln!(page, "| --- | --- |{}", " ---: |".repeat(machines.len()));
    for kind in COSTS {
        let values: Vec<String> = machines.iter().map(|table| cost(kind.of(table))).collect();
        let _ = writeln!(page, "| `{}` | {} | {} |", kind.name, kind.meaning(), values.join(" | "));
    }
}

fn cost(cost: Cost) -> String {
    format!("{} ns", cost.as_picos() as f64 / 1000.0)
}

fn write_kernels(page: &mut String) {
    page.push_str(
        "\n## Kernels\n\nThe choices of `kernel = { base = …, CHOICE = … }`, and what each kernel chose. Switches are \
         written `true` or `false`\ntoo.\n\n",
    );
    let kernels = registry::all();
    let _ = writeln!(page, "| choice | what is chosen | value | {} | source |", registry::NAMES.join(" | "));
    let _ = writeln!(page, "| --- | --- | --- |{} --- |", " --- |".repeat(kernels.len()));
    for choice in choices() {
        let values: Vec<String> = kernels.iter().map(|kernel| choice.of(kernel)).collect();
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} | {} |",
            choice.name,
            choice.meaning,
            choice.form(),
            values.join(" | "),
            choice.source
        );
    }
    page.push_str(
        "\n## Sysctls\n\nWhat `[hosts.NAME.sysctl]` can set, written as the kernel writes it, and what each kernel \
         has after boot.\n\n",
    );
    let _ = writeln!(page, "| sysctl | {} |", registry::NAMES.join(" | "));
    let _ = writeln!(page, "| --- |{}", " --- |".repeat(kernels.len()));
    for sysctl in sysctls() {
        let values: Vec<String> = kernels.iter().map(|kernel| sysctl.of(kernel)).collect();
        let _ = writeln!(page, "| `{}` | {} |", sysctl.name, values.join(" | "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_and_every_range_is_a_value_of_its_key() {
        for section in SECTIONS {
            for key in section.keys {
                assert!(key.is_sound(), "{} of {}", key.name(), section.heading);
                assert!(key.meaning().ends_with(['.', '…']), "{} of {}", key.name(), section.heading);
            }
        }
    }
}
