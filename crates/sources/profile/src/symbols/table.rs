//! Symbols, sorted by address.

use std::cmp::Reverse;

/// Limit of symbols in a table: some 20 times as many as a kernel has.
const MOST: usize = 4 * 1024 * 1024;
/// Limit of bytes in all names.
const MOST_NAMES: usize = 512 * 1024 * 1024;

/// How many earlier symbols are searched for one that contains others.
const NESTED: usize = 8;

/// The visibility of a symbol, the best last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Binding {
    Weak,
    Local,
    Global,
}

/// A module's index plus one; 0 is the kernel or program itself.
type Module = u16;

#[derive(Clone, Copy, Debug)]
struct Symbol {
    start: u64,
    end: u64,
    name: (u32, u32),
    binding: Binding,
    module: Module,
}

/// Symbols and their names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    symbols: Vec<Symbol>,
    names: String,
    modules: Vec<String>,
    /// The addresses of perf's reference symbols, which may lose to other symbols at the same address.
    references: [Option<u64>; REFERENCES.len()],
}

/// `ref_reloc_sym_names`, tools/perf/util/machine.c.
const REFERENCES: [&str; 2] = ["_text", "_stext"];

impl Table {
    /// Adds a symbol; a length of 0 means unknown.
    pub(crate) fn push(&mut self, start: u64, length: u64, name: &str, binding: Binding, module: &str) {
        if self.symbols.len() >= MOST || self.names.len() + name.len() > MOST_NAMES || name.is_empty() {
            return;
        }
        if let Some(at) = REFERENCES.iter().position(|reference| *reference == name) {
            self.references[at] = Some(start);
        }
        let module = if module.is_empty() { 0 } else { self.module(module) };
        let place = (self.names.len() as u32, name.len() as u32);
        self.names.push_str(name);
        self.symbols.push(Symbol { start, end: start.saturating_add(length), name: place, binding, module });
    }

    fn module(&mut self, name: &str) -> Module {
        // A module's symbols come together.
        let at = self.modules.iter().rposition(|known| known == name).unwrap_or_else(|| {
            if self.modules.len() + 1 < usize::from(Module::MAX) {
                self.modules.push(name.to_owned());
            }
            self.modules.len() - 1
        });
        (at + 1) as Module
    }

    /// Sorts the table after all symbols were added. Of several symbols at one address, the one that perf shows is
    /// kept.
    pub(crate) fn finish(&mut self) {
        let names = &self.names;
        // perf's order (`choose_best_symbol`, tools/perf/util/symbol.c): a symbol with a length, not weak, global, with
        // few leading underscores, and the longest; system calls by their own names, not `SyS_`
        // (`arch__choose_best_symbol`). Of symbols without a length, the last one has one by then, up to the next
        // address (`symbols__fixup_end`).
        let mut number = 0u32;
        self.symbols.sort_by_cached_key(|symbol| {
            number += 1;
            let name = &names[symbol.name.0 as usize..][..symbol.name.1 as usize];
            let underscores = name.bytes().take_while(|b| *b == b'_').count();
            let is_alias = name.starts_with("SyS") || name.starts_with("compat_SyS");
            let has_length = symbol.end > symbol.start;
            let last = Reverse(if has_length { 0 } else { number });
            (
                symbol.start,
                !has_length,
                last,
                Reverse(symbol.binding),
                underscores,
                Reverse(name.len()),
                is_alias,
            )
        });
        self.symbols.dedup_by_key(|symbol| symbol.start);
        let starts: Vec<u64> = self.symbols.iter().skip(1).map(|symbol| symbol.start).collect();
        for (symbol, next) in self.symbols.iter_mut().zip(starts) {
            if symbol.end == symbol.start {
                symbol.end = next;
            }
        }
        // `symbols__fixup_end` gives the last symbol a page.
        if let Some(last) = self.symbols.last_mut()
            && last.end == last.start
        {
            last.end = last.start.saturating_add(4096);
        }
    }

    /// The name of the symbol at an address, and its module, if it has one.
    pub(crate) fn find(&self, address: u64) -> Option<(&str, Option<&str>)> {
        let after = self.symbols.partition_point(|symbol| symbol.start <= address);
        let nearest = self.symbols[..after].iter().rev().take(NESTED);
        let symbol = nearest.into_iter().find(|symbol| address < symbol.end)?;
        let module = usize::from(symbol.module).checked_sub(1).map(|at| self.modules[at].as_str());
        Some((self.name(symbol), module))
    }

    /// Whether there is a symbol of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.symbols.iter().any(|symbol| self.name(symbol) == name)
    }

    /// The address of one of perf's reference symbols.
    pub(crate) fn reference(&self, name: &str) -> Option<u64> {
        REFERENCES.iter().position(|reference| *reference == name).and_then(|at| self.references[at])
    }

    fn name(&self, symbol: &Symbol) -> &str {
        &self.names[symbol.name.0 as usize..][..symbol.name.1 as usize]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_resolves_to_innermost_symbol_with_preferred_name() {
        let mut table = Table::default();
        table.push(100, 100, "outer", Binding::Global, "");
        table.push(120, 10, "inner", Binding::Local, "");
        table.push(300, 100, "__alias", Binding::Global, "");
        table.push(300, 100, "alias", Binding::Global, "");
        table.push(300, 100, "weak_and_long", Binding::Weak, "");
        table.push(200, 0, "first_and_longer", Binding::Global, "");
        table.push(200, 0, "last", Binding::Global, "");
        table.push(400, 0, "in_module", Binding::Local, "tcp_bbr");
        table.finish();
        let name = |address| table.find(address).map(|(name, _)| name);
        assert_eq!(
            [name(99), name(100), name(125), name(130)],
            [None, Some("outer"), Some("inner"), Some("outer")]
        );
        assert_eq!([name(200), name(300), name(399)], [Some("last"), Some("alias"), Some("alias")]);
        assert_eq!(table.find(410), Some(("in_module", Some("tcp_bbr"))));
        assert_eq!(table.find(400 + 4096), None);
        assert!(table.has("inner") && !table.has("__alias"));
    }
}
