// A page put together from the checked-in assets and data made here, some of it hostile.
import { readFileSync } from "node:fs";

const assets = new URL("../../crates/views/assets/", import.meta.url);
const asset = (name) => readFileSync(new URL(name, assets), "utf8");

const HOSTILE = '<img src=x onerror="window.broken=1"></script><script>window.broken=1</script>';

function picture(segments) {
  const every = (value) => new Array(segments).fill(value);
  return {
    fresh: {
      from_ns_delta: [20_000_000, ...every(370_000).slice(1)], lasted_ns: null,
      low_delta: [1, ...every(1448).slice(1)], length: every(1448), count: null, label: null,
    },
    again: {
      from_ns_delta: [400_000_000, 5_000_000], lasted_ns: null, low_delta: [1_000_001, 1448], length: [1448, 1448],
      count: null, label: [1, 3],
    },
    answers: {
      from_ns_delta: [40_000_000, ...every(370_000).slice(1)], lasted_ns: null,
      ack_delta: [1449, ...every(1448).slice(1)], below: null,
      window_delta: [65536, ...every(0).slice(1)], window_below: null, count: null,
    },
    sacks: { from_ns_delta: [380_000_000], lasted_ns: null, low_delta: [1_001_449], length: [4344], twice: null },
    round_trips: { from_ns_delta: [40_000_000, ...every(370_000).slice(1)], min_ns: every(20_000_000), spread_ns: null },
    flights: { from_ns_delta: [40_000_000, ...every(370_000).slice(1)], most: every(65_160) },
    merged: 0,
    window_known: true,
  };
}

/** Half of the time nothing passed. */
function queueing() {
  const every = (value) => new Array(100).fill(value);
  return {
    from_ns_delta: [20_000_000, ...every(4_000_000), 1_000_000_000], step_ns: 4_000_000,
    min_ns: every(1_000_000).concat(0, 0), mean_ns: every(2_000_000).concat(0, 0), max_ns: every(9_000_000).concat(0, 0),
    least_delay_ns: 20_000_000, lost_ns_delta: [380_000_000, 1_000_000], lost: 5000,
  };
}

function flow(number, segments) {
  return {
    flow: number, ends: `192.0.2.${number}:40000 → 198.51.100.7:443`, moved: "moved 46 MiB in 2 s (193 Mbit/s)",
    verdict: "90 % of that time it was bound by the receive window: a small one.",
    verdict_in_short: "90 % a small window", ending: null, first_ns: 0, last_ns: 2_000_000_000, lost_ns: 1_800_000_000,
    spells: { lasted_ns: [200_000_000, 1_800_000_000], cause: [0, 1], merged: false },
    findings: [{
      cause: 1, share: 0.9, amount: "90 %, 1.8 s", confidence: "high", evidence: [HOSTILE], instants_ns: [200_000_000],
      advice: [{
        text: "Let it grow.", caution: "Not too far.",
        fixes: [{ host: "receiver", command: "sysctl -w x=1", effect: "how far", needs: "root", undo: "sysctl -w x=0" }],
      }],
    }],
    repetition: "2 retransmitted", vantage: "Recorded at the sender (high confidence).", on_the_way: ["None was lost."], blind_spots: ["The receiver."],
    measures: [["data", "46 MiB"]], show: `slowpath show '${HOSTILE}' --flow ${number}`,
    picture: segments === 0 ? null : picture(segments), queueing: segments < 1000 ? null : queueing(),
  };
}

export function samplePage(segments) {
  const slugs = [
    "connection", "application", "send-buffer", "receive-window", "receiver-processing", "congestion-window",
    "loss-recovery", "path", "unknown",
  ];
  const data = {
    schema: "slowpath/page/1", version: "0", flow_count: 3, groups: [HOSTILE], remarks: [HOSTILE],
    recordings: [{ name: HOSTILE, facts: "pcap, 2 s", warnings: [HOSTILE], notes: [] }],
    limits: slugs.map((slug) => ({ slug, title: slug.replaceAll("-", " ") })),
    causes: [
      { name: "congestion-window/slow-start", limit: 5, title: "slow start" },
      { name: "receive-window/buffer-too-small", limit: 3, title: "a small one" },
    ],
    labels: [
      "new", "retransmission", "spurious-retransmission", "out-of-order", "duplicate-frame", "keep-alive", "window-probe",
    ],
    flows: [flow(1, segments), flow(2, 300), flow(3, 0)],
  };
  return asset("report.html")
    .replace("{{style}}", () => asset("report.css"))
    .replace("{{data}}", () => JSON.stringify(data).replaceAll("<", "\\u003c"))
    .replace("{{script}}", () => asset("report.js"));
}
