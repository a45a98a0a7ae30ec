//! CPU time of the full analysis of one capture, in nanoseconds a frame.

use slowpath_analyses::{Analysis, Options};
use slowpath_capture::Capture;

fn main() -> anyhow::Result<()> {
    for file in std::env::args().skip(1) {
        for _ in 0..3 {
            let before = cpu();
            let mut analysis = Analysis::new(Options::default());
            let summary = Capture::open(&file)?.run(&mut analysis)?;
            let read = cpu();
            let mut flows = 0;
            analysis.finish_each(|_| flows += 1);
            let after = cpu();
            println!("{file}: {} frames, {flows} flows, {:.1} ns/frame, {:.2} M frames/s, finish {:.3} s", summary.frames,
                (after - before) as f64 / summary.frames as f64, summary.frames as f64 * 1e3 / (after - before) as f64, (after - read) as f64 / 1e9);
        }
    }
    let status = std::fs::read_to_string("/proc/self/status")?;
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or(""));
    Ok(())
}

fn cpu() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0)
}
