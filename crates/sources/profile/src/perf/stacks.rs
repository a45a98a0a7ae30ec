//! Turns stacks of addresses into stacks of functions.

use super::chains::{Chain, Chains};
use super::context;
use super::header::About;
use super::names::{KernelMap, Names};
use super::spaces::{Space, Spaces};
use crate::SymbolSources;
use crate::gather::Gather;
use crate::images::is_whole;
use crate::notes::Notes;
use slowpath_cost::{Frame, Image};

/// The owner of the current address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    Kernel,
    Program,
    /// A guest or a hypervisor, which cannot be resolved.
    Other,
}

/// Resolves all stacks.
pub(crate) fn name(
    about: &About,
    spaces: &Spaces,
    kernel: KernelMap,
    chains: &Chains,
    options: &SymbolSources,
    gather: &mut Gather,
    notes: &mut Notes,
) {
    let mut names = Names::new(options, about, spaces, kernel);
    let mut frames = Vec::new();
    for (chain, addresses) in chains.iter() {
        names.next_stack(chain.samples);
        let reaches = functions(chain.key.space, addresses, &mut names, gather, &mut frames);
        let attr = &about.events[usize::from(chain.key.event)].attr;
        let is_full =
            addresses.iter().filter(|address| **address < context::MAX).count() >= attr.max_stack.into();
        let is_truncated = !chain.key.has_stack || is_full || !reaches || attr.dumps_stacks;
        // An event that was recorded only for its mappings (`dummy`) has no samples and is not an event of the profile.
        let event = gather.event(&about.events[usize::from(chain.key.event)].name, attr.unit());
        count(chain, event, &frames, is_truncated, spaces, gather);
    }
    names.finish(notes);
}

fn count(
    chain: &Chain,
    event: u16,
    frames: &[Frame],
    is_truncated: bool,
    spaces: &Spaces,
    gather: &mut Gather,
) {
    if is_truncated && chain.key.has_stack {
        gather.profile.lost.truncated += chain.samples;
    }
    let stack = gather.stack(frames, is_truncated);
    let name = spaces.names().get(chain.key.thread_name as usize).map_or("[unknown]", String::as_str);
    let task = gather.task(name);
    gather.add(stack, event, task, chain.samples, chain.weight);
}

/// The functions of a stack; false if it is truncated.
fn functions(
    space: Space,
    addresses: &[u64],
    names: &mut Names<'_>,
    gather: &mut Gather,
    frames: &mut Vec<Frame>,
) -> bool {
    frames.clear();
    let (mut whose, mut is_exact) = (Whose::Kernel, true);
    for &address in addresses {
        if address >= context::MAX {
            (whose, is_exact) = match address {
                context::KERNEL => (Whose::Kernel, true),
                context::USER => (Whose::Program, true),
                _ => (Whose::Other, true),
            };
            continue;
        }
        let functions = &mut gather.profile.functions;
        // The first address is where the CPU was. The others are return addresses, which may be the start of the next
        // function if the call never returns.
        let back = u64::from(!is_exact);
        is_exact = false;
        let function = match whose {
            // Following frame pointers into unmapped data finds a 0 there.
            _ if address == 0 => continue,
            Whose::Kernel => names.at(None, address, back, functions),
            Whose::Program => names.at(Some(space), address, back, functions),
            Whose::Other => functions.of("[unknown]", &Image::Unknown),
        };
        if whose == Whose::Program {
            let inlined = names.inlined(space, address, back, functions).iter();
            frames.extend(inlined.map(|function| Frame { function: *function, inlined: true }));
        }
        frames.push(Frame { function, inlined: false });
    }
    let Some(outermost) = frames.last() else { return false };
    let functions = &gather.profile.functions;
    is_whole(functions.name(outermost.function), functions.image(outermost.function))
}
