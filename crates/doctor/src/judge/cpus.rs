//! The CPUs: their clocks, and overloaded softirqs.

use super::Examination;
use crate::finding::{Check, Finding, Severity, change, sysctl};
use crate::host::Softnet;
use slowpath_remedies::percent;

pub(super) fn all(exam: &Examination<'_>, found: &mut Vec<Finding>) {
    if exam.goal.role.receives() {
        found.extend(backlog(exam));
        found.extend(budget(exam));
    }
    found.extend(clock(exam));
}

fn sum(exam: &Examination<'_>, of: fn(&Softnet) -> u64) -> u64 {
    exam.host.softnet.iter().map(of).fold(0, u64::saturating_add)
}

fn backlog(exam: &Examination<'_>) -> Option<Finding> {
    const NAME: &str = "net.core.netdev_max_backlog";
    let (processed, dropped) = (sum(exam, |cpu| cpu.processed), sum(exam, |cpu| cpu.dropped));
    let share = exam.is_too_much(dropped, processed.saturating_add(dropped))?;
    let finding = Finding::new(Check::BacklogDrops, Severity::Hint, "CPU backlogs have dropped packets")
        .seen(format!("/proc/net/softnet_stat: {processed} processed, {dropped} dropped"))
        .because(
            format!(
                "{} since boot, where CUBIC tolerates {} at the goal. The backlog is used with RPS, and by \
                 loopback, veth and tunnels.",
                percent(share),
                percent(exam.bearable_loss().unwrap_or(0.0))
            ),
            "enqueue_to_backlog (6.18); sysctl/net.rst, netdev_max_backlog",
        );
    Some(match exam.host.part(NAME, 0) {
        Some(now) => finding.fixed_by(sysctl(NAME, &now.saturating_mul(4).to_string(), &now.to_string())),
        None => finding,
    })
}

/// A softirq may run out of budget once in this many packets; more often is reported (`netdev_budget` is 300 packets).
const PACKETS_PER_SQUEEZE: u64 = 1000;

fn budget(exam: &Examination<'_>) -> Option<Finding> {
    const NAME: &str = "net.core.netdev_budget";
    let (processed, squeezed) = (sum(exam, |cpu| cpu.processed), sum(exam, |cpu| cpu.squeezed));
    (squeezed > 100 && squeezed.saturating_mul(PACKETS_PER_SQUEEZE) > processed).then_some(())?;
    let finding = Finding::new(
        Check::Budget,
        Severity::Hint,
        "softirqs have run out of budget with packets left (time_squeeze)",
    )
    .seen(format!("/proc/net/softnet_stat: {processed} processed, {squeezed} times squeezed"))
    .because(
        "These packets wait for the next softirq, behind processes. This is harmless if nothing is dropped \
         meanwhile.",
        "net_rx_action (6.18); sysctl/net.rst, netdev_budget",
    );
    Some(match exam.host.part(NAME, 0) {
        Some(now) => finding.fixed_by(sysctl(NAME, &now.saturating_mul(2).to_string(), &now.to_string())),
        None => finding,
    })
}

fn clock(exam: &Examination<'_>) -> Option<Finding> {
    // At lower packet rates, a slow CPU is fast enough.
    exam.has_many_packets().then_some(())?;
    // Drivers with their own P-states choose clocks themselves under this name.
    let slow = |driver: &str, governor: &str| governor == "powersave" && !driver.contains("pstate");
    let bounded = |allowed: Option<u64>, most: Option<u64>| {
        allowed.zip(most).is_some_and(|(allowed, most)| allowed < most / 10 * 9)
    };
    let clocks = &exam.host.clocks;
    let clock = clocks
        .iter()
        .find(|clock| slow(&clock.driver, &clock.governor) || bounded(clock.allowed_khz, clock.most_khz))?;
    let mhz = |khz: Option<u64>| khz.map_or_else(|| "?".to_owned(), |khz| (khz / 1000).to_string());
    Some(
        Finding::new(Check::CpuClock, Severity::Costs, "CPUs are limited below their maximum frequency")
            .seen(format!(
                "cpu{}: governor {} ({}), {} MHz of {} MHz",
                clock.cpu,
                clock.governor,
                clock.driver,
                mhz(clock.allowed_khz),
                mhz(clock.most_khz)
            ))
            .because(
                format!("The goal is {} packets a second.", exam.packets_per_s()),
                "admin-guide/pm/cpufreq.rst",
            )
            .fixed_by(
                change("cpupower frequency-set -g performance")
                    .undone_by(format!("cpupower frequency-set -g {}", clock.governor)),
            ),
    )
}
