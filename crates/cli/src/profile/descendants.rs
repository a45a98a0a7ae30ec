//! `slowpath profile descendants`: lavoie's Greatest n Descendants.

use super::Source;
use super::load::{About, Loaded, Named, percent};
use crate::Outcome;
use crate::console::{self, Console};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_cost::descendants::Ancestor;
use std::io::{self, Write};

const HELP: &str = "\
For each of the functions that cost most themselves it lists what costs most of all that they called, however deep (lavoie, section \
3.1.2). A descendant's cost is all of its own, whoever called it: how much of it was for whom says `slowpath profile attribute`. What \
interrupts and softirqs do on top of a function it has not called.

Examples:
  slowpath profile descendants perf.data
  slowpath profile descendants perf.data --of tcp_v4_rcv --greatest 20";

/// Arguments of `profile descendants`.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct Descendants {
    #[command(flatten)]
    source: Source,
    /// Of how many of the functions that cost most themselves
    #[arg(long, value_name = "M", default_value_t = 10)]
    top: usize,
    /// Of these functions, in place of those that cost most; names of functions, or of operations such as "TCP receive"
    #[arg(long, value_name = "FUNCTION", value_delimiter = ',', conflicts_with = "top")]
    of: Vec<String>,
    /// How many descendants of each
    #[arg(long, value_name = "N", default_value_t = 8)]
    greatest: usize,
    /// Print JSON (schema slowpath/profile-descendants/1) instead of text
    #[arg(long)]
    json: bool,
}

/// What the top functions' descendants cost (schema slowpath/profile-descendants/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/profile-descendants/1")]
pub struct Document<'a> {
    /// `slowpath/profile-descendants/1`.
    schema: &'static str,
    /// The profile.
    profile: About<'a>,
    /// The functions.
    functions: Vec<Family<'a>>,
}

/// A function and its greatest descendants.
#[derive(Serialize, JsonSchema)]
struct Family<'a> {
    #[serde(flatten)]
    function: Named<'a>,
    /// Its own part of all, 0 to 1.
    share: f64,
    /// Its descendants, the greatest first.
    descendants: Vec<Child<'a>>,
}

/// A descendant.
#[derive(Serialize, JsonSchema)]
struct Child<'a> {
    #[serde(flatten)]
    function: Named<'a>,
    /// Its own part of all, 0 to 1.
    share: f64,
    /// By how many calls it is deeper at least.
    depth: u32,
}

pub fn run(args: &Descendants, console: &Console) -> anyhow::Result<Outcome> {
    let mut loaded = Loaded::open(&args.source.file, &args.source.names, console)?;
    let families = if args.of.is_empty() {
        loaded.edges.greatest_descendants(args.top, args.greatest)
    } else {
        let functions = loaded.all_named(&args.of)?;
        loaded.edges.greatest_descendants_of(&functions, args.greatest)
    };
    console::tell(args.json, || document(&loaded, &families), |out| print(&loaded, &families, out))?;
    Ok(loaded.outcome())
}

fn document<'a>(loaded: &'a Loaded, families: &[Ancestor]) -> Document<'a> {
    let part = |weight: u64| weight as f64 / loaded.weight() as f64;
    let family = |ancestor: &Ancestor| Family {
        function: loaded.function(ancestor.function),
        share: part(ancestor.own),
        descendants: ancestor
            .descendants
            .iter()
            .map(|found| Child {
                function: loaded.function(found.function),
                share: part(found.own),
                depth: found.depth,
            })
            .collect(),
    };
    Document {
        schema: "slowpath/profile-descendants/1",
        profile: loaded.about(),
        functions: families.iter().map(family).collect(),
    }
}

fn print(loaded: &Loaded, families: &[Ancestor], out: &mut impl Write) -> io::Result<()> {
    loaded.head(out)?;
    let part = |weight: u64| percent(weight as f64 / loaded.weight() as f64);
    for ancestor in families {
        writeln!(out, "{:>6}  {}", part(ancestor.own), loaded.spelt(ancestor.function))?;
        for found in &ancestor.descendants {
            let deeper = if found.depth == 1 { String::new() } else { format!(", {} deep", found.depth) };
            writeln!(out, "    {:>6}  {}{deeper}", part(found.own), loaded.spelt(found.function))?;
        }
        if ancestor.descendants.is_empty() {
            writeln!(out, "    it called nothing that cost anything")?;
        }
    }
    Ok(())
}
