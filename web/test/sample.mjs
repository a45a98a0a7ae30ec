// A page put together from the checked-in assets and data made here, some of it hostile.
import { readFileSync } from "node:fs";

const assets = new URL("../../crates/views/assets/", import.meta.url);
const asset = (name) => readFileSync(new URL(name, assets), "utf8");

const HOSTILE = '<img src=x onerror="window.broken=1"></script><script>window.broken=1</script>';
/** Hostile text and Markdown: links, code and tables must not become anything but text either. */
const HANDBOOK = `# Title\n\n\`receive-window/buffer-too-small\`\n\n## What it is\n\nA *small* buffer, \`rmem\`.\nSee [the page](javascript:window.broken=1). ${HOSTILE}\n\n1. Let it **grow**.\n\n   \`\`\`sh\n   sysctl x\n   \`\`\`\n\n   Carefully.\n\n2. Measure.\n\n| a | b |\n| --- | --- |\n| ${HOSTILE} | 2 |\n\n    rate = window / RTT\n`;

/** The frames of the data and, after them, of the ACKs. */
function packets(length, first) {
  const every = (value) => new Array(length).fill(value);
  return { frame_delta: [first, ...every(2).slice(1)], flags: [24, ...every(16).slice(1)], ack_delta: [1, ...every(0).slice(1)], window_delta: [64128, ...every(0).slice(1)] };
}

/** When segments come: each 370 µs, but after 1 s 21 of them at once, 200 ns apart. */
function sent(segments) {
  const deltas = new Array(segments).fill(370_000);
  deltas[0] = 20_000_000;
  if (segments > 2670) {
    deltas[2649] = 240_000;
    deltas.fill(200, 2650, 2670);
    deltas[2670] = 22 * 370_000 - 240_000 - 20 * 200;
  }
  return deltas;
}

function picture(segments) {
  const every = (value) => new Array(segments).fill(value);
  return {
    fresh: {
      from_ns_delta: sent(segments), lasted_ns: null,
      low_delta: [1, ...every(1448).slice(1)], length: every(1448), count: null, label: null, packets: packets(segments, 4),
    },
    again: {
      from_ns_delta: [400_000_000, 5_000_000], lasted_ns: null, low_delta: [1_000_001, 1448], length: [1448, 1448],
      count: null, label: [1, 3], packets: packets(2, 900),
    },
    answers: {
      from_ns_delta: [40_000_000, ...every(370_000).slice(1)], lasted_ns: null,
      ack_delta: [1449, ...every(1448).slice(1)], below: null,
      window_delta: [65536, ...every(0).slice(1)].map((delta, i) => (i === 100 ? -65536 : i === 101 ? 65536 : delta)),
      window_below: null, count: null, frame_delta: [5, ...every(2).slice(1)], flags: null,
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
    measures: [["data", "46 MiB"]], show: `slowpath show '${HOSTILE}' --flow ${number}`, show_other: `slowpath show other.pcap --flow ${number}`,
    other_end: segments < 1000 ? null : {
      recording: HOSTILE, vantage: "at the receiver", verdict: "95 % of that time: slow start.",
      findings: [{ cause: 0, share: 0.95, amount: "95 %, 1.9 s", confidence: "low", evidence: ["As the receiver saw it."], instants_ns: [700_000_000], advice: [] }],
    },
    stalls: [{ from_ns: 500_000_000, lasted_ns: 90_000_000, cause: "tail-retransmission", frame: 77 }],
    picture: segments === 0 ? null : picture(segments), queueing: segments < 1000 ? null : queueing(),
  };
}

/** Rounded, this would be all of the time. */
function nearlyAll(flow) {
  flow.findings[0].share = 0.998;
  return flow;
}

/** `number` flows of 40 clients to 3 services; the first three are those shown in full. */
function lines(number) {
  const each = (value) => Array.from({ length: number }, (_, row) => value(row));
  const hosts = each((row) => row).slice(0, 40).map((row) => `192.0.2.${row + 1}`);
  hosts.push("198.51.100.7", "2001:db8::7", HOSTILE);
  return {
    hosts, flow: each((row) => row + 1), client: each((row) => row % Math.min(40, number)),
    client_port: each((row) => 40000 + (row % 20000)), server: each((row) => Math.min(40, number) + (row < 3 ? 0 : row % 3)),
    server_port: each((row) => (row % 2 ? 443 : 5001)), upload: each(() => 1), bytes: each((row) => (row * 7919) % 50_000_000),
    first_us: each((row) => row * 10), lasted_us: each((row) => 2_000_000 + ((row * 104_729) % 1_000_000)),
    lost_us: each((row) => (number - row) * 5), retransmitted: each((row) => row % 7), cause: each((row) => (row % 5 === 4 ? -1 : row % 2)),
    share: each((row) => 90 - (row % 60)),
  };
}

export function samplePage(segments, flows = 3) {
  const slugs = [
    "connection", "application", "send-buffer", "receive-window", "receiver-processing", "congestion-window",
    "loss-recovery", "path", "unknown",
  ];
  const data = {
    schema: "slowpath/page/1", version: "0", title: HOSTILE, command: "slowpath diagnose a.pcap", flow_count: flows, remarks: [HOSTILE],
    recordings: [{ name: HOSTILE, began: "2026-11-29 03:32:25.123 UTC", facts: "pcap, 2 s", warnings: [HOSTILE], notes: [] }],
    limits: slugs.map((slug) => ({ slug, title: slug.replaceAll("-", " ") })),
    causes: [
      { name: "congestion-window/slow-start", limit: 5, title: "slow start", page: null },
      { name: "receive-window/buffer-too-small", limit: 3, title: "a small one", page: HANDBOOK },
    ],
    labels: [
      "new", "retransmission", "spurious-retransmission", "out-of-order", "duplicate-frame", "keep-alive", "window-probe",
    ],
    flows: [flow(1, segments), nearlyAll(flow(2, 300)), flow(3, 0)].slice(0, flows), lines: lines(flows),
  };
  return asset("report.html")
    .replace("{{title}}", () => "sample")
    .replace("{{style}}", () => asset("report.css"))
    .replace("{{data}}", () => JSON.stringify(data).replaceAll("<", "\\u003c"))
    .replace("{{script}}", () => asset("report.js"));
}
