//! `slowpath tune advise`: the buffers that a transfer needs, as JSON and as text.

use crate::quantity::duration;
use crate::terminal::Look;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_model::units::counted;
use slowpath_model::{Bytes, nanos};
use slowpath_tune::advice::{self, Needed, Numbers};
use std::io::{self, Write};
use std::time::Duration;

/// The buffers that a transfer needs (schema slowpath/tune-advise/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/tune-advise/1")]
pub struct AdviseDocument {
    /// `slowpath/tune-advise/1`.
    schema: &'static str,
    /// The rate wanted from all connections together, in bit/s.
    rate_bit_per_s: u64,
    /// The RTT.
    rtt_ns: u64,
    /// Parallel connections.
    streams: u32,
    /// The running kernel's release.
    release: String,
    /// The kernel whose arithmetic this is, as `slowpath kernels` lists it.
    kernel: String,
    /// The bandwidth-delay product.
    product_bytes: u64,
    /// The part of each connection.
    each_bytes: u64,
    /// The window that each connection needs: an eighth more than its part.
    window_bytes: u64,
    /// The receive buffer of a connection.
    receive: Buffer,
    /// The send buffer of a connection.
    send: Buffer,
    /// The settings that the transfer needs.
    settings: Vec<NeededSetting>,
    /// What all connections cost.
    memory: Memory,
    /// What windows as large as the limits allow would add to the queues of the path.
    excess_bytes: u64,
    /// How long that takes at the rate.
    excess_ns: u64,
    /// If one connection cannot have so large a window: how many connections can; null otherwise.
    streams_needed: Option<u64>,
}

/// A buffer of a connection.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AdvisedBuffer")]
struct Buffer {
    /// The limit to set.
    limit_bytes: u64,
    /// The window, or the data in flight, that this limit allows.
    allows_bytes: u64,
    /// The smallest limit that allows the window; null if none does.
    least_bytes: Option<u64>,
    /// What the limit of now allows; null if it cannot be read.
    allows_now_bytes: Option<u64>,
    /// What a program has to ask for that sets the buffer itself; null if no value suffices.
    ask_bytes: Option<u64>,
}

/// A setting that the transfer needs.
#[derive(Serialize, JsonSchema)]
struct NeededSetting {
    /// The host: `sender` or `receiver`.
    host: &'static str,
    /// The setting, as in a plan.
    setting: String,
    /// Its value on this host; null if it cannot be read.
    now: Option<String>,
    /// The value that suffices.
    then: String,
    /// Whether the value of now suffices.
    suffices: bool,
    /// Whether only programs need it that set their buffers themselves.
    own_buffers: bool,
}

/// Memory of all connections together.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AdvisedMemory")]
struct Memory {
    /// What they take while the pipe is full.
    usual_bytes: u64,
    /// What they take if each receive buffer is full.
    most_bytes: u64,
    /// Above this, TCP is under memory pressure (the second number of tcp_mem); null if it is not known.
    pressure_bytes: Option<u64>,
    /// How many connections with full buffers stay below it; null if it is not known.
    fits: Option<u64>,
}

impl AdviseDocument {
    /// The document of a transfer's numbers.
    pub fn of(numbers: &Numbers) -> Self {
        let buffer = |buffer: &advice::Buffer| Buffer {
            limit_bytes: buffer.limit.get(),
            allows_bytes: buffer.allows.get(),
            least_bytes: buffer.least.map(Bytes::get),
            allows_now_bytes: buffer.allows_now.map(Bytes::get),
            ask_bytes: buffer.ask.map(Bytes::get),
        };
        let settings = numbers.settings.iter().map(|needed| NeededSetting {
            host: host(needed),
            setting: needed.change.setting.to_string(),
            now: needed.change.now.clone(),
            then: needed.change.then.clone(),
            suffices: needed.suffices,
            own_buffers: needed.is_for_own_buffers,
        });
        Self {
            schema: "slowpath/tune-advise/1",
            rate_bit_per_s: numbers.transfer.rate.get(),
            rtt_ns: nanos(numbers.transfer.rtt),
            streams: numbers.transfer.streams,
            release: numbers.release.clone(),
            kernel: numbers.kernel.clone(),
            product_bytes: numbers.product.get(),
            each_bytes: numbers.each.get(),
            window_bytes: numbers.window.get(),
            receive: buffer(&numbers.receive),
            send: buffer(&numbers.send),
            settings: settings.collect(),
            memory: Memory {
                usual_bytes: numbers.memory.usual.get(),
                most_bytes: numbers.memory.most.get(),
                pressure_bytes: numbers.memory.pressure.map(Bytes::get),
                fits: numbers.memory.fits,
            },
            excess_bytes: numbers.excess.get(),
            excess_ns: nanos(numbers.delay),
            streams_needed: numbers.streams_needed,
        }
    }
}

const fn host(needed: &Needed) -> &'static str {
    if needed.is_receivers { "receiver" } else { "sender" }
}

/// Prints the numbers, why, what they cost, and when they do harm.
///
/// # Errors
/// The errors of `out`.
pub fn advice(numbers: &Numbers, look: &Look, out: &mut impl Write) -> io::Result<()> {
    let Numbers { transfer, product, each, window, .. } = numbers;
    let streams = match transfer.streams {
        1 => String::new(),
        streams => format!(" in {streams} connections"),
    };
    let verdict = format!(
        "{} over {}{streams} needs a window of {window} for each connection.",
        transfer.rate,
        duration(transfer.rtt)
    );
    look.strong_paragraph(out, &verdict)?;
    let part = if transfer.streams == 1 { String::new() } else { format!(", {each} for each connection") };
    let why = format!(
        "The path holds {product} when its queues are empty{part}. An eighth more keeps it full; much more only fills its queues \
         (ubik V). The limits follow from the arithmetic of {}; this host runs Linux {}.",
        numbers.kernel, numbers.release
    );
    look.paragraph(out, "", &why)?;
    if let Some(needed) = numbers.streams_needed {
        let text = format!(
            "No connection can have so large a window: buffers end below 2 GiB, and windows at 1 GiB (RFC 7323). It takes {}.",
            counted(needed, "connection")
        );
        look.paragraph(out, "", &text)?;
    }
    for (name, what, buffer) in
        [("receive buffer", "a window", &numbers.receive), ("send buffer", "in flight", &numbers.send)]
    {
        let least = match buffer.least {
            Some(least) => format!("at least {least}; "),
            None => String::new(),
        };
        let allows = |amount: Bytes| match what {
            "in flight" => format!("{amount} in flight"),
            _ => format!("{what} of {amount}"),
        };
        let now = buffer.allows_now.map_or_else(String::new, |now| format!(", that of now {}", allows(now)));
        let text = format!("{least}set {}, which allows {}{now}", buffer.limit, allows(buffer.allows));
        look.paragraph(out, &format!("  limit of a {name}: "), &text)?;
    }
    print_settings(numbers, out)?;
    print_cost(numbers, look, out)
}

fn print_settings(numbers: &Numbers, out: &mut impl Write) -> io::Result<()> {
    for (is_receivers, who) in [(true, "On the receiver"), (false, "On the sender")] {
        writeln!(out, "{who}:")?;
        for needed in numbers.settings.iter().filter(|needed| needed.is_receivers == is_receivers) {
            let setting = &needed.change.setting;
            let state = match (&needed.change.now, needed.suffices) {
                (Some(now), true) => format!("{now} suffices"),
                (Some(now), false) => format!("{now} → {}", needed.change.then),
                (None, _) => needed.change.then.clone(),
            };
            writeln!(out, "  {setting}: {state}")?;
            if needed.is_for_own_buffers {
                let option = if is_receivers { "SO_RCVBUF" } else { "SO_SNDBUF" };
                let buffer = if is_receivers { &numbers.receive } else { &numbers.send };
                if let Some(ask) = buffer.ask {
                    writeln!(
                        out,
                        "    only for programs that set {option} themselves, to {} or more",
                        ask.get()
                    )?;
                }
            }
        }
    }
    Ok(())
}

fn print_cost(numbers: &Numbers, look: &Look, out: &mut impl Write) -> io::Result<()> {
    let memory = &numbers.memory;
    let streams = u64::from(numbers.transfer.streams);
    let mut cost = format!(
        "Memory: {} of the receiver while the path is full (packets take about twice their data), at most {} with {}.",
        memory.usual,
        memory.most,
        counted(streams, "full buffer")
    );
    if let (Some(pressure), Some(fits)) = (memory.pressure, memory.fits) {
        cost += &match fits {
            _ if fits >= streams => format!(
                " TCP is under pressure from {pressure} on (tcp_mem), which {} of this size reach.",
                counted(fits.saturating_add(1), "full buffer")
            ),
            _ => format!(
                " That is more than the {pressure} from which TCP is under pressure (tcp_mem): then no buffer grows, and windows \
                 shrink. Use fewer connections, lower the limit, or raise tcp_mem."
            ),
        };
    }
    look.paragraph(out, "", &cost)?;
    if numbers.delay > Duration::ZERO {
        let text = format!(
            "Harm: with these limits, {} more can be in flight than the path holds. If its queue is that deep, it delays all \
             traffic there by up to {}. On a path that is slower than you think, or shared, set the least limit.",
            numbers.excess,
            duration(numbers.delay)
        );
        look.paragraph(out, "", &text)?;
    }
    Ok(())
}
