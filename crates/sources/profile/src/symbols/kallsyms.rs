//! `/proc/kallsyms` of any host: an address, a type, a name and, for symbols of modules, the module.

use super::table::{Binding, Table};
use std::io::{BufRead, Read};

/// Limit of bytes read; a kernel with many modules has 20 MiB.
const MOST: u64 = 512 * 1024 * 1024;
/// Limit of a line: names have up to 511 bytes (`KSYM_NAME_LEN`, `include/linux/kallsyms.h`).
const LONGEST: u64 = 4096;

/// Reads the symbols of functions.
///
/// # Errors
///
/// What is wrong, with the line number.
pub(crate) fn read(source: impl BufRead) -> Result<Table, String> {
    let mut table = Table::default();
    let mut source = source.take(MOST);
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        match source.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => return Err(format!("line {number}: {error}")),
        }
        let text = String::from_utf8_lossy(&line);
        let (address, kind, name, module) = parse(&text).ok_or_else(|| {
            format!("line {number} is no symbol of /proc/kallsyms (address, type and name are wanted)")
        })?;
        // The kernel shows zeros to readers without permission (`kallsyms_show_value`).
        if address == 0 {
            continue;
        }
        let binding = match kind {
            't' => Binding::Local,
            'T' => Binding::Global,
            'w' | 'W' => Binding::Weak,
            _ => continue,
        };
        table.push(address, 0, name, binding, module);
    }
    table.finish();
    Ok(table)
}

fn parse(line: &str) -> Option<(u64, char, &str, &str)> {
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let mut kind = words.next()?.chars();
    let (kind, None) = (kind.next()?, kind.next()) else { return None };
    let name = words.next()?;
    let module = words.next().map_or("", |module| module.trim_matches(['[', ']']));
    Some((address, kind, name, module))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "ffffffff81000000 T _text\nffffffff81000040 t tcp_ack\nffffffff81000080 D jiffies\n\
        ffffffff81000090 W sched_clock\nffffffffc0001000 t bbr_main\t[tcp_bbr]\n";

    #[test]
    fn functions_are_read_with_their_modules() {
        let table = read(TEXT.as_bytes()).unwrap();
        assert_eq!(table.find(0xffff_ffff_8100_0043), Some(("tcp_ack", None)));
        assert_eq!(table.find(0xffff_ffff_c000_1008), Some(("bbr_main", Some("tcp_bbr"))));
        assert_eq!(table.reference("_text"), Some(0xffff_ffff_8100_0000));
        assert!(!table.has("jiffies"));
    }

    #[test]
    fn zero_addresses_give_no_symbols() {
        let table = read("0000000000000000 T _text\n0000000000000000 t tcp_ack\n".as_bytes()).unwrap();
        assert!(table.is_empty());
    }

    #[test]
    fn malformed_line_is_refused_with_its_number() {
        let refused = read("ffffffff81000000 T _text\nhello\n".as_bytes()).unwrap_err();
        assert!(refused.starts_with("line 2 is no symbol"), "{refused}");
    }
}
