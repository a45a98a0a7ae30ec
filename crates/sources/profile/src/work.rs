//! What a host did while a profile was recorded: /proc is read before and after, and the difference is stored in a file
//! next to the profile.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use slowpath_cost::Work;
use slowpath_cost::work::Carried;
use slowpath_files::{Existing, open_regular, write_output};
use slowpath_uapi::proc;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Instant;

const SCHEMA: &str = "slowpath/work/1";
/// Limit of a work file: usually 10 KiB, more for a kernel with many devices.
const MOST_BYTES: u64 = 4 << 20;
/// Tables of `/proc/net/snmp` and `netstat` that are read.
const TABLES: &[&str] = &["Ip", "Tcp", "TcpExt", "IpExt"];
/// Values that are gauges or settings, not counters (RFC 4022, RFC 4293).
const NOT_COUNTED: &[&str] = &[
    "Ip.Forwarding",
    "Ip.DefaultTTL",
    "Tcp.RtoAlgorithm",
    "Tcp.RtoMin",
    "Tcp.RtoMax",
    "Tcp.MaxConn",
    "Tcp.CurrEstab",
];

/// What a host did while it was profiled (schema slowpath/work/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/work/1")]
pub struct WorkDocument<'a> {
    /// `slowpath/work/1`.
    schema: &'static str,
    /// For how long it was profiled.
    seconds: Option<f64>,
    /// How many CPUs were online.
    cpus: Option<u32>,
    /// At how many cycles a second they ran.
    cpu_hz: Option<f64>,
    /// Whether all that ran on the host was profiled, and not a process or some CPUs; null where that is not known.
    is_whole_host: Option<bool>,
    /// By how much the kernel's counters grew in the network namespace, by table and name as in /proc/net/snmp and netstat:
    /// `Tcp.InSegs`; and of the whole host `Stat.ctxt`, as in /proc/stat.
    counters: &'a BTreeMap<String, u64>,
    /// What its network devices carried, by name.
    devices: BTreeMap<&'a str, Device>,
}

/// What a network device carried; a super-packet is one packet.
#[derive(Serialize, JsonSchema)]
struct Device {
    /// Bytes received.
    received_bytes: u64,
    /// Packets received.
    received_packets: u64,
    /// Bytes sent.
    sent_bytes: u64,
    /// Packets sent.
    sent_packets: u64,
}

/// The counters at the start.
#[derive(Clone, Debug)]
pub struct Begun {
    /// The folder with the network namespace's files.
    net: PathBuf,
    at: Instant,
    counters: BTreeMap<String, u64>,
    devices: BTreeMap<String, Carried>,
}

impl Begun {
    /// For the network namespace of this thread: `/proc/net` would be that of the process's first thread.
    pub fn here() -> Self {
        Self::in_folder("/proc/thread-self/net".into())
    }

    /// For the network namespace of a process.
    pub fn of(process: u32) -> Self {
        Self::in_folder(format!("/proc/{process}/net").into())
    }

    fn in_folder(net: PathBuf) -> Self {
        let (counters, devices) = look(&net);
        Self { net, at: Instant::now(), counters, devices }
    }

    /// The difference since then. What can no longer be read is absent.
    pub fn end(&self) -> Work {
        let seconds = self.at.elapsed().as_secs_f64();
        let (counters, devices) = look(&self.net);
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Work {
            seconds: Some(seconds),
            cpus: cpus(),
            cpu_hz: hertz(&cpuinfo),
            is_whole_host: None,
            counters: grown(&self.counters, counters),
            devices: carried(&self.devices, devices),
        }
    }
}

fn look(net: &Path) -> (BTreeMap<String, u64>, BTreeMap<String, Carried>) {
    let read = |name: &str| fs::read_to_string(net.join(name)).unwrap_or_default();
    let mut counters = BTreeMap::new();
    for name in ["snmp", "netstat"] {
        let text = read(name);
        let ours = proc::counters(&text).filter(|(table, ..)| TABLES.contains(table));
        let named = ours.map(|(table, name, value)| (format!("{table}.{name}"), value));
        counters.extend(named.filter(|(name, _)| !NOT_COUNTED.contains(&name.as_str())));
    }
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let switches = stat.lines().find_map(|line| line.strip_prefix("ctxt ")?.trim().parse().ok());
    counters.extend(switches.map(|switches| ("Stat.ctxt".to_owned(), switches)));
    (counters, devices(&read("dev")))
}

/// Parses a line per device: 8 numbers of received, 8 of sent traffic (`dev_seq_printf_stats`).
fn devices(text: &str) -> BTreeMap<String, Carried> {
    let mut devices = BTreeMap::new();
    for (name, numbers) in text.lines().filter_map(|line| line.rsplit_once(':')) {
        let numbers: Vec<u64> = numbers.split_whitespace().map_while(|number| number.parse().ok()).collect();
        if let [received_bytes, received_packets, _, _, _, _, _, _, sent_bytes, sent_packets, ..] =
            numbers[..]
        {
            let carried = Carried { received_bytes, received_packets, sent_bytes, sent_packets };
            devices.insert(name.trim().to_owned(), carried);
        }
    }
    devices
}

/// The growth of counters that exist at both ends and did not decrease.
fn grown(from: &BTreeMap<String, u64>, to: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    to.into_iter()
        .filter_map(|(name, to)| Some((to.checked_sub(*from.get(&name)?)?, name)))
        .map(|(by, name)| (name, by))
        .collect()
}

fn carried(from: &BTreeMap<String, Carried>, to: BTreeMap<String, Carried>) -> BTreeMap<String, Carried> {
    let since = |name: &String, to: Carried| {
        // A device that appeared meanwhile began at 0.
        let from = from.get(name).copied().unwrap_or_default();
        Some(Carried {
            received_bytes: to.received_bytes.checked_sub(from.received_bytes)?,
            received_packets: to.received_packets.checked_sub(from.received_packets)?,
            sent_bytes: to.sent_bytes.checked_sub(from.sent_bytes)?,
            sent_packets: to.sent_packets.checked_sub(from.sent_packets)?,
        })
    };
    to.into_iter().filter_map(|(name, to)| since(&name, to).map(|by| (name, by))).collect()
}

fn cpus() -> Option<u32> {
    // SAFETY: the argument is a plain value.
    let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    u32::try_from(online).ok().filter(|online| *online > 0)
}

/// The mean CPU frequency on x86 (`show_cpuinfo`); other CPUs do not report it there.
fn hertz(cpuinfo: &str) -> Option<f64> {
    let megahertz = |line: &str| line.strip_prefix("cpu MHz")?.split_once(':')?.1.trim().parse::<f64>().ok();
    let all: Vec<f64> =
        cpuinfo.lines().filter_map(megahertz).filter(|hertz| hertz.is_finite() && *hertz > 0.0).collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64 * 1e6)
}

/// The path of the work file next to a profile: `perf.data.work.json`.
pub fn beside(profile: &Path) -> PathBuf {
    let mut name = OsString::from(profile);
    name.push(".work.json");
    name.into()
}

/// Writes the work of a profile next to it. Returns the file.
pub fn write(profile: &Path, work: &Work) -> io::Result<PathBuf> {
    let file = beside(profile);
    write_output(&file, Existing::Replace, to_json(work).as_bytes()).map_err(io::Error::other)?;
    Ok(file)
}

/// Renames the work file along with its profile, which perf renamed to `perf.data.old`.
pub(crate) fn move_aside(profile: &Path) {
    let mut old = OsString::from(profile);
    old.push(".old");
    let to = beside(Path::new(&old));
    if fs::rename(beside(profile), &to).is_err() {
        // An existing file belongs to a profile that is gone.
        let _ = fs::remove_file(to);
    }
}

/// Work as JSON.
pub fn to_json(work: &Work) -> String {
    let device = |carried: &Carried| Device {
        received_bytes: carried.received_bytes,
        received_packets: carried.received_packets,
        sent_bytes: carried.sent_bytes,
        sent_packets: carried.sent_packets,
    };
    let document = WorkDocument {
        schema: SCHEMA,
        seconds: work.seconds,
        cpus: work.cpus,
        cpu_hz: work.cpu_hz,
        is_whole_host: work.is_whole_host,
        counters: &work.counters,
        devices: work.devices.iter().map(|(name, carried)| (name.as_str(), device(carried))).collect(),
    };
    // Plain data cannot fail; numbers that JSON lacks become null.
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

/// The work that was read, and which of its fields were invalid and skipped.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkRead {
    /// The valid part.
    pub work: Work,
    /// Fields that were skipped, by name.
    pub skipped: Vec<String>,
}

/// Work that could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkError {
    /// The file cannot be read.
    #[error("{name}: cannot be read")]
    Read {
        /// The file.
        name: String,
        /// What the system says.
        source: io::Error,
    },
    /// The file has another format, or is damaged.
    #[error("{name}: not what a host did ({SCHEMA}): {reason}")]
    NotWork {
        /// The file.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// Reads a file written by [`to_json`]. Unknown keys are ignored.
pub fn open(path: &Path) -> Result<WorkRead, WorkError> {
    read(path, File::open(path))
}

/// Reads a file that was found next to a profile. Whoever sent the folder may have put something else there.
pub fn open_beside(path: &Path) -> Result<WorkRead, WorkError> {
    read(path, open_regular(path))
}

fn read(path: &Path, opened: io::Result<File>) -> Result<WorkRead, WorkError> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    let read = opened.and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|source| WorkError::Read { name: name.clone(), source })?;
    from_json(&name, &bytes)
}

/// Reads a work document from memory.
pub fn from_json(name: &str, bytes: &[u8]) -> Result<WorkRead, WorkError> {
    let not_work = |reason: String| WorkError::NotWork { name: name.to_owned(), reason };
    if bytes.len() as u64 > MOST_BYTES {
        return Err(not_work(format!("it has more than {MOST_BYTES} bytes")));
    }
    let value: Value = serde_json::from_slice(bytes).map_err(|error| not_work(error.to_string()))?;
    let Some(fields) =
        value.as_object().filter(|fields| fields.get("schema").is_some_and(|found| found == SCHEMA))
    else {
        return Err(not_work("its schema is another".to_owned()));
    };
    let mut skipped = Vec::new();
    let seconds = amount(fields, "seconds", &mut skipped);
    let cpu_hz = amount(fields, "cpu_hz", &mut skipped);
    let cpus = field(fields, "cpus", &mut skipped, |value| {
        u32::try_from(value.as_u64()?).ok().filter(|cpus| *cpus > 0)
    });
    let is_whole_host = field(fields, "is_whole_host", &mut skipped, Value::as_bool);
    let counters = entries(fields, "counters", &mut skipped, Value::as_u64);
    let devices = entries(fields, "devices", &mut skipped, device);
    Ok(WorkRead { work: Work { seconds, cpus, cpu_hz, is_whole_host, counters, devices }, skipped })
}

fn device(value: &Value) -> Option<Carried> {
    let number = |name: &str| value.get(name)?.as_u64();
    Some(Carried {
        received_bytes: number("received_bytes")?,
        received_packets: number("received_packets")?,
        sent_bytes: number("sent_bytes")?,
        sent_packets: number("sent_packets")?,
    })
}

/// A field; if absent or null it is unknown, and if invalid it is skipped.
fn field<T>(
    fields: &Map<String, Value>,
    name: &str,
    skipped: &mut Vec<String>,
    read: impl Fn(&Value) -> Option<T>,
) -> Option<T> {
    let value = fields.get(name).filter(|value| !value.is_null())?;
    let found = read(value);
    if found.is_none() {
        skipped.push(name.to_owned());
    }
    found
}

fn amount(fields: &Map<String, Value>, name: &str, skipped: &mut Vec<String>) -> Option<f64> {
    field(fields, name, skipped, |value| value.as_f64().filter(|value| value.is_finite() && *value > 0.0))
}

fn entries<T>(
    fields: &Map<String, Value>,
    name: &str,
    skipped: &mut Vec<String>,
    read: impl Fn(&Value) -> Option<T>,
) -> BTreeMap<String, T> {
    let mut entries = BTreeMap::new();
    let Some(found) = field(fields, name, skipped, |value| value.as_object().cloned()) else {
        return entries;
    };
    for (key, value) in found {
        match read(&value) {
            Some(value) => {
                entries.insert(key, value);
            }
            None => skipped.push(format!("{name}.{key}")),
        }
    }
    entries
}
