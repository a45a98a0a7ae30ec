//! `slowpath explain buffer` as text.

use super::buffer::{Buffer, Kernel, Needed, OneStep, Way};
use crate::quantity::count;
use slowpath_model::units::duration_text;
use slowpath_model::{Bytes, Rate};
use std::io::{self, Write};
use std::time::Duration;

impl Buffer {
    /// Prints each kernel's steps.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        for (at, kernel) in self.kernels.iter().enumerate() {
            if at > 0 {
                writeln!(out)?;
            }
            self.print_kernel(kernel, out)?;
        }
        Ok(())
    }

    fn print_kernel(&self, kernel: &Kernel, out: &mut impl Write) -> io::Result<()> {
        let asked = |option: &str, sysctl: &str| match self.asked_bytes {
            Some(size) => format!("{option} asks for {} ({} B)", Bytes::new(size.into()), count(size.into())),
            None => format!("no program sets {option}; {sysctl} is"),
        };
        writeln!(out, "{}, receiving: {}", kernel.name, asked("SO_RCVBUF", "tcp_rmem"))?;
        self.print_way(&kernel.receive, "window", "SO_RCVBUF", out)?;
        writeln!(out, "\n{}, sending: {}", kernel.name, asked("SO_SNDBUF", "tcp_wmem"))?;
        self.print_way(&kernel.send, "in flight", "SO_SNDBUF", out)
    }

    fn print_way(&self, way: &Way, what: &str, option: &str, out: &mut impl Write) -> io::Result<()> {
        for OneStep { name, function, formula, from, to, unit } in &way.steps {
            let value = match from {
                Some(from) => format!("{} → {}", count(*from), written(*to, unit)),
                None => written(*to, unit),
            };
            writeln!(out, "  {name:<24}  {value:<26}  {formula}")?;
            writeln!(out, "  {:<24}  {function}", "")?;
        }
        if let (Some(rate), Some(rtt)) = (way.rate_bit_per_s, self.rtt_ns) {
            writeln!(
                out,
                "  over {}: {} {what} per RTT is at most {}",
                duration_text(Duration::from_nanos(rtt)),
                Bytes::new(way.most_bytes),
                Rate::bits_per_second(rate)
            )?;
        }
        match (&way.needed, self.bdp_bytes) {
            (Some(needed), Some(bdp)) => print_needed(needed, bdp, option, out),
            _ => Ok(()),
        }
    }
}

fn print_needed(needed: &Needed, bdp: u64, option: &str, out: &mut impl Write) -> io::Result<()> {
    let holds = format!("the path holds {} ({} B)", Bytes::new(bdp), count(bdp));
    if needed.is_enough {
        return writeln!(out, "  {holds}: that is enough");
    }
    writeln!(out, "  {holds}: that is NOT enough. Enough would be:")?;
    match (needed.ask_bytes, &needed.ask_sysctl) {
        (Some(ask), None) => writeln!(out, "    {option} of {} B", count(ask.into()))?,
        (Some(ask), Some(sysctl)) => {
            writeln!(out, "    {option} of {} B, and before it sysctl -w {sysctl}", count(ask.into()))?;
        }
        (None, _) => {
            writeln!(out, "    no value of {option}: the window field and its scale cannot express that")?
        }
    }
    match (needed.tuned_bytes, &needed.tuned_sysctl) {
        (Some(_), Some(sysctl)) => writeln!(out, "    or, without {option}, sysctl -w '{sysctl}'"),
        (Some(_), None) => {
            writeln!(out, "    or nothing: without {option} this kernel tunes the buffer to that")
        }
        (None, _) => writeln!(out, "    nothing else: this kernel does not tune a buffer that far by itself"),
    }
}

fn written(value: u64, unit: &str) -> String {
    match unit {
        "shift" => format!("shift {value}"),
        _ => format!("{} {unit}", count(value)),
    }
}
