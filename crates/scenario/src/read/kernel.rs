//! A host's kernel: a known one, with some choices and sysctls changed.

use crate::file::{Entry, Place, Table, Value};
use crate::schema::nearest::nearest;
use crate::schema::table::origin;
use crate::schema::{Context, Key, Origin, Reader, Section, Setting, Sub};
use crate::sysctl;
use slowpath_kernels::{Choice, KernelProfile, choices, registry};
use std::time::Duration;

static BASE: Key<String> = Key::new("base", "The kernel to start from.").default("6.18", "today's kernel");

/// A custom kernel.
pub static KERNEL: Section = Section {
    heading: "[hosts.NAME.kernel]",
    meaning: "A custom kernel: a known one with some choices changed, such as `kernel = { base = \"6.18\", scheduler = \
              \"o1\" }`. The end of this page lists the choices.",
    keys: &[&BASE],
    also: None,
};

/// Used if the file's kernel is unknown, so that the rest can be checked.
const DEFAULT: &str = "linux-6.18";

/// Reads the kernel and applies the sysctls.
pub fn read(host: &Reader<'_>, key: &'static Sub, sysctl: &'static Sub) -> KernelProfile {
    let mut kernel = match host.entry(key) {
        None => {
            host.note(key, Some(DEFAULT.to_owned()), Origin::Default, "today's kernel");
            known(host.context(), DEFAULT, None)
        }
        Some(entry) => match &entry.node.value {
            Value::Text(name) => {
                let kernel = known(host.context(), name, Some(&entry.node.place));
                host.note(key, Some(kernel.name.clone()), origin(&entry.node), "");
                kernel
            }
            Value::Table(table) => own(host, key, table, &entry.node.place),
            other => {
                let message = format!("this is {}, not a kernel", other.kind());
                host.context().refuse(entry.node.place.clone(), message, "write \"6.18\"");
                known(host.context(), DEFAULT, None)
            }
        },
    };
    if let Some((table, _)) = host.table(sysctl) {
        for entry in &table.entries {
            put_sysctl(host, sysctl, &mut kernel, entry);
        }
    }
    kernel
}

/// The kernel with this name; today's, and an error, if there is none.
fn known(context: &Context, name: &str, place: Option<&Place>) -> KernelProfile {
    if let Some(kernel) = registry::named(name) {
        return kernel;
    }
    if let Some(place) = place {
        let hint = format!("there are {}; `slowpath kernels` shows them", registry::NAMES.join(", "));
        context.refuse(place.clone(), "there is no such kernel here", hint);
    }
    registry::all().pop().unwrap_or_else(|| unreachable!("there are kernels"))
}

fn own(host: &Reader<'_>, key: &'static Sub, table: &Table, place: &Place) -> KernelProfile {
    let prefix = host.prefix_of(key);
    let (base, choices): (Vec<Entry>, Vec<Entry>) =
        table.entries.iter().cloned().partition(|entry| entry.key == "base");
    let base = Table { entries: base };
    let reader = Reader::new(host.context(), &KERNEL, Some(&base), place, &prefix);
    let name = reader.get(&BASE);
    let mut kernel = known(host.context(), &name, Some(&reader.place(&BASE)));
    for entry in &choices {
        put_choice(host.context(), &prefix, &mut kernel, entry);
    }
    if !choices.is_empty() {
        kernel.name.push('+');
    }
    kernel
}

fn put_choice(context: &Context, prefix: &str, kernel: &mut KernelProfile, entry: &Entry) {
    let Some(choice) = Choice::named(&entry.key) else {
        let hint = match nearest(&entry.key, choices().map(|choice| choice.name)) {
            Some(meant) => format!("did you mean {meant}?"),
            None => "`slowpath kernels` lists the choices".to_owned(),
        };
        context.refuse(entry.place.clone(), "a kernel has no such choice", hint);
        return;
    };
    let before = choice.of(kernel);
    let put = bare(&entry.node.value, "yes", "no").is_some_and(|text| choice.put(kernel, &text).is_ok());
    if !put {
        let hint = format!("write {}", choice.form());
        context.refuse(entry.node.place.clone(), format!("{} cannot be this", choice.name), hint);
        return;
    }
    context.note(Setting {
        key: format!("{prefix}{}", choice.name),
        value: Some(choice.of(kernel)),
        origin: origin(&entry.node),
        meaning: choice.meaning.to_owned(),
        reason: format!("{before} in the kernel itself"),
    });
}

fn put_sysctl(host: &Reader<'_>, key: &'static Sub, kernel: &mut KernelProfile, entry: &Entry) {
    // net.ipv4.tcp_sack without quotes is three nested tables.
    if let Value::Table(inner) = &entry.node.value
        && matches!(entry.key.as_str(), "net" | "ipv4" | "core")
    {
        for entry in &inner.entries {
            put_sysctl(host, key, kernel, entry);
        }
        return;
    }
    let sysctl = match sysctl::named(&entry.key) {
        Ok(sysctl) => sysctl,
        Err(hint) => {
            host.context().refuse(entry.place.clone(), "there is no such sysctl here", hint);
            return;
        }
    };
    let before = sysctl.of(kernel);
    let put = bare(&entry.node.value, "1", "0").is_some_and(|text| sysctl.put(kernel, &text).is_ok());
    if !put {
        let hint = format!("write {}", sysctl.form());
        host.context().refuse(entry.node.place.clone(), format!("{} cannot be this", sysctl.name), hint);
        return;
    }
    if !kernel.receive.busy_poll && !kernel.receive.busy_read.is_zero() {
        let message = format!("{} has no net.core.busy_read, which came with 3.11", kernel.name);
        host.context().refuse(entry.place.clone(), message, "leave it out, or write another kernel");
        kernel.receive.busy_read = Duration::ZERO;
        return;
    }
    host.context().note(Setting {
        key: format!("{}{}", host.prefix_of(key), sysctl.short_name()),
        value: Some(sysctl.of(kernel)),
        origin: origin(&entry.node),
        meaning: sysctl.name.to_owned(),
        reason: format!("{before} in {}", kernel.name),
    });
}

/// A value as text; switches have their own words.
fn bare(value: &Value, yes: &str, no: &str) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Bool(switch) => Some(if *switch { yes } else { no }.to_owned()),
        Value::Other(_) | Value::List(_) | Value::Table(_) => None,
    }
}
