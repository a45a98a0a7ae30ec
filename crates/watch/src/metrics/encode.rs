//! The metrics as text: OpenMetrics, or what Prometheus read before.

use super::families::{self, Family, Kind};
use super::groups::Group;
use super::host::{USER_HZ, accept_queues};
use super::places::Place;
use super::totals::Totals;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, MetricEncoder, NoLabelSet,
};
use prometheus_client::encoding::{prometheus_text, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use slowpath_analyses::waits::{STEPS, Steps};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A format of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Prometheus's own, 0.0.4.
    Prometheus,
}

impl Format {
    /// By the header `Accept` of a request: OpenMetrics, unless only the other one is named.
    pub fn accepted(accept: Option<&str>) -> Self {
        match accept {
            Some(accept)
                if accept.contains("text/plain") && !accept.contains("application/openmetrics-text") =>
            {
                Self::Prometheus
            }
            _ => Self::OpenMetrics,
        }
    }

    /// The header `Content-Type`.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// What is counted, shared by who counts and who asks.
#[derive(Debug)]
pub struct Exported {
    totals: Arc<Mutex<Totals>>,
    registry: Registry,
}

#[derive(Debug)]
struct Shared(Arc<Mutex<Totals>>);

impl Exported {
    /// Of these totals.
    pub fn new(totals: Totals) -> Self {
        let totals = Arc::new(Mutex::new(totals));
        let mut registry = Registry::with_prefix("slowpath");
        registry.register_collector(Box::new(Shared(Arc::clone(&totals))));
        Self { totals, registry }
    }

    /// The totals, to count in.
    pub fn totals(&self) -> MutexGuard<'_, Totals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The metrics now.
    ///
    /// # Errors
    /// If the encoder refuses a name or value.
    pub fn text(&self, format: Format) -> Result<String, fmt::Error> {
        let mut out = String::new();
        match format {
            Format::OpenMetrics => text::encode(&mut out, &self.registry)?,
            Format::Prometheus => prometheus_text::encode(&mut out, &self.registry)?,
        }
        Ok(out)
    }
}

impl Collector for Shared {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let totals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Writer(encoder).all(&totals)
    }
}

/// Names and values of labels.
type Set<'a> = Vec<(&'a str, &'a str)>;

struct Writer<'a>(DescriptorEncoder<'a>);

impl Writer<'_> {
    fn all(&mut self, totals: &Totals) -> fmt::Result {
        let source = vec![("version", env!("CARGO_PKG_VERSION")), ("source", totals.source)];
        self.family(families::BUILD, |metric| metric.encode_info(&source))?;
        self.connections(totals)?;
        self.family(families::WAITS, |metric| {
            totals.waits.iter().try_for_each(|(on, steps)| waits(metric, on.name(), steps))
        })?;
        self.host(totals)?;
        self.own(totals)
    }

    fn family(
        &mut self,
        family: Family,
        write: impl FnOnce(&mut MetricEncoder<'_>) -> fmt::Result,
    ) -> fmt::Result {
        let kind = match family.kind {
            Kind::Counter => MetricType::Counter,
            Kind::Gauge => MetricType::Gauge,
            Kind::Histogram => MetricType::Histogram,
            Kind::Info => MetricType::Info,
        };
        let unit = family.unit.map(|unit| Unit::Other(unit.to_owned()));
        write(&mut self.0.encode_descriptor(family.name, family.help, unit.as_ref(), kind)?)
    }

    fn connections(&mut self, totals: &Totals) -> fmt::Result {
        let labels = |group| labels(totals, group);
        self.family(families::LIMITED, |metric| {
            totals.groups().try_for_each(|group| {
                group.limited.iter().try_for_each(|(cause, lasted)| {
                    let mut labels = labels(group);
                    labels.extend([("limit", cause.limit().slug()), ("cause", cause.slug())]);
                    count(metric, &labels, lasted.as_secs_f64())
                })
            })
        })?;
        self.family(families::WATCHED, |metric| {
            totals.groups().try_for_each(|group| count(metric, &labels(group), group.watched.as_secs_f64()))
        })?;
        for (family, of) in [
            (families::SENT, (|group| group.sent) as fn(&Group) -> u64),
            (families::RECEIVED, |group| group.received),
            (families::DATA_SEGMENTS, |group| group.segments),
        ] {
            self.family(family, |metric| {
                totals.groups().try_for_each(|group| count(metric, &labels(group), of(group)))
            })?;
        }
        self.family(families::RETRANSMITTED, |metric| {
            totals.groups().try_for_each(|group| {
                group.retransmitted.iter().try_for_each(|(lost, segments)| {
                    let mut labels = labels(group);
                    labels.push(("lost", lost.name()));
                    count(metric, &labels, *segments)
                })
            })
        })?;
        self.family(families::CONNECTIONS, |metric| {
            totals.groups().try_for_each(|group| gauge(metric, &labels(group), wide(group.connections)))
        })
    }

    fn host(&mut self, totals: &Totals) -> fmt::Result {
        let host = &totals.host;
        let queues = accept_queues(&host.listeners);
        for (family, of) in [
            (families::QUEUE_LENGTH, (|queue| queue.1) as fn(&(String, u64, u64)) -> u64),
            (families::QUEUE_LIMIT, |queue| queue.2),
        ] {
            self.family(family, |metric| {
                queues
                    .iter()
                    .try_for_each(|queue| gauge(metric, &vec![("listener", &*queue.0)], wide(of(queue))))
            })?;
        }
        for (family, label, names) in [
            (families::QUEUE_OVERFLOWS, "", &[("", "TcpExtListenOverflows")][..]),
            (families::LISTEN_DROPS, "", &[("", "TcpExtListenDrops")]),
            (families::PRESSURES, "", &[("", "TcpExtTCPMemoryPressures")]),
            (families::COLLAPSED, "", &[("", "TcpExtTCPRcvCollapsed")]),
            (
                families::PRUNED,
                "queue",
                &[("in-order", "TcpExtRcvPruned"), ("out-of-order", "TcpExtOfoPruned")],
            ),
            (families::TCP_SEGMENTS, "direction", &[("in", "TcpInSegs"), ("out", "TcpOutSegs")]),
            (families::TCP_RETRANSMITTED, "", &[("", "TcpRetransSegs")]),
        ] {
            self.family(family, |metric| {
                let known =
                    names.iter().filter_map(|(value, name)| Some((*value, *host.counters.get(*name)?)));
                known.into_iter().try_for_each(|(value, now)| match label {
                    "" => count(metric, &vec![], now),
                    label => count(metric, &vec![(label, value)], now),
                })
            })?;
        }
        // In milliseconds (net/ipv4/tcp.c, tcp_leave_memory_pressure).
        if let Some(ms) = host.counters.get("TcpExtTCPMemoryPressuresChrono") {
            let pressure = Duration::from_millis(*ms).as_secs_f64();
            self.family(families::PRESSURE, |metric| count(metric, &vec![], pressure))?;
        }
        if let Some(sockets) = host.counters.get("TcpCurrEstab") {
            self.family(families::ESTABLISHED, |metric| gauge(metric, &vec![], wide(*sockets)))?;
        }
        if let Some(bytes) = host.tcp_bytes {
            self.family(families::TCP_MEMORY, |metric| gauge(metric, &vec![], wide(bytes)))?;
        }
        if let Some(limits) = host.tcp_limits {
            self.family(families::TCP_MEMORY_LIMIT, |metric| {
                ["low", "pressure", "high"].iter().zip(limits).try_for_each(|(threshold, bytes)| {
                    gauge(metric, &vec![("threshold", *threshold)], wide(bytes))
                })
            })?;
        }
        self.family(families::SOFTIRQS, |metric| {
            host.softirqs.iter().try_for_each(|(cpu, ticks)| {
                count(metric, &vec![("cpu", &*cpu.to_string())], *ticks as f64 / USER_HZ)
            })
        })
    }

    fn own(&mut self, totals: &Totals) -> fmt::Result {
        self.family(families::WATCHED_SOCKETS, |metric| gauge(metric, &vec![], wide(totals.sockets)))?;
        let mut unwatched = vec![("too-many", totals.not_kept)];
        if let Some(probe) = &totals.host.probe {
            self.family(families::DROPPED, |metric| {
                probe.dropped.iter().try_for_each(|one| {
                    let labels = vec![("place", Place::of(&one.reason).name()), ("reason", &*one.reason)];
                    count(metric, &labels, one.packets)
                })
            })?;
            unwatched.push(("no-memory", probe.unwatched));
            let missed = [("full", probe.untold), ("nested", probe.skipped)];
            self.family(families::MISSED, |metric| {
                missed
                    .iter()
                    .try_for_each(|(reason, events)| count(metric, &vec![("reason", *reason)], *events))
            })?;
        }
        self.family(families::UNWATCHED, |metric| {
            unwatched.iter().try_for_each(|(reason, times)| count(metric, &vec![("reason", *reason)], *times))
        })?;
        if let Some(share) = totals.accounted() {
            self.family(families::ACCOUNTED, |metric| gauge(metric, &vec![], share))?;
        }
        self.family(families::INTERVALS, |metric| count(metric, &vec![], totals.intervals))?;
        self.family(families::WATCH, |metric| count(metric, &vec![], totals.watched.as_secs_f64()))?;
        let groups = &totals.groups;
        self.family(families::SERIES, |metric| gauge(metric, &vec![], wide(groups.used() as u64)))?;
        self.family(families::SERIES_LIMIT, |metric| gauge(metric, &vec![], wide(groups.most() as u64)))?;
        self.family(families::MERGED, |metric| count(metric, &vec![], groups.merged()))
    }
}

fn labels<'a>(totals: &'a Totals, group: &'a Group) -> Set<'a> {
    let names = totals.labelling.labels.iter().map(|label| label.name());
    names.zip(group.labels.iter().map(|value| &**value)).collect()
}

fn count(metric: &mut MetricEncoder<'_>, labels: &Set<'_>, value: impl EncodeCounterValue) -> fmt::Result {
    metric.encode_family(labels)?.encode_counter::<NoLabelSet, _, u64>(&value, None)
}

fn gauge(metric: &mut MetricEncoder<'_>, labels: &Set<'_>, value: impl EncodeGaugeValue) -> fmt::Result {
    metric.encode_family(labels)?.encode_gauge(&value)
}

/// A gauge's number.
fn wide(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn waits(metric: &mut MetricEncoder<'_>, on: &str, steps: &Steps) -> fmt::Result {
    let ends = STEPS.iter().map(Duration::as_secs_f64).chain([f64::INFINITY]);
    let buckets: Vec<(f64, u64)> = ends.zip(steps.counts).collect();
    let count = steps.counts.iter().fold(0, |sum: u64, count| sum.saturating_add(*count));
    let seconds = steps.sum_ns as f64 / 1e9;
    metric.encode_family(&vec![("wait", on)])?.encode_histogram::<NoLabelSet>(seconds, count, &buckets, None)
}
