// The page's data as it is embedded (schema slowpath/page/1, see crates/views/schema/page-1.json), and its columns
// unpacked. Nothing here draws.

export interface Page {
  schema: string;
  version: string;
  title: string;
  /** The command that reads it again; null if it came from a stream. */
  command: string | null;
  recordings: { name: string; began: string | null; facts: string; warnings: string[]; notes: string[] }[];
  limits: { slug: string; title: string }[];
  causes: { name: string; limit: number; title: string; page: string | null }[];
  labels: string[];
  flow_count: number;
  flows: Flow[];
  lines: Lines;
  remarks: string[];
}

/** All flows, a row each, in columns. */
export interface Lines {
  hosts: string[];
  flow: number[];
  client: number[];
  client_port: number[];
  server: number[];
  server_port: number[];
  upload: number[] | null;
  bytes: number[];
  first_us: number[];
  lasted_us: number[];
  lost_us: number[];
  retransmitted: number[] | null;
  cause: number[];
  share: number[];
}

export interface Flow {
  flow: number;
  ends: string;
  moved: string;
  verdict: string;
  verdict_in_short: string;
  ending: string | null;
  first_ns: number;
  last_ns: number;
  lost_ns: number;
  spells: { lasted_ns: number[]; cause: number[]; merged: boolean };
  findings: Finding[];
  repetition: string | null;
  vantage: string;
  on_the_way: string[];
  blind_spots: string[];
  measures: [string, string][];
  show: string | null;
  show_other: string | null;
  other_end: { recording: string; vantage: string; verdict: string; findings: Finding[] } | null;
  stalls: { from_ns: number; lasted_ns: number; cause: string; frame: number }[];
  picture: PackedPicture | null;
  queueing: PackedQueueing | null;
}

export interface Finding {
  cause: number;
  share: number;
  amount: string;
  confidence: string;
  evidence: string[];
  instants_ns: number[];
  advice: Advice[];
}

export interface Advice {
  text: string;
  fixes: { host: string; command: string; effect: string; needs: string | null; undo: string | null }[];
  caution: string | null;
}

interface PackedStrokes {
  from_ns_delta: number[];
  lasted_ns: number[] | null;
  low_delta: number[];
  length: number[];
  count: number[] | null;
  label: number[] | null;
  packets: { frame_delta: number[]; flags: number[] | null; ack_delta: number[]; window_delta: number[] } | null;
}

interface PackedPicture {
  fresh: PackedStrokes;
  again: PackedStrokes;
  answers: {
    from_ns_delta: number[];
    lasted_ns: number[] | null;
    ack_delta: number[];
    below: number[] | null;
    window_delta: number[];
    window_below: number[] | null;
    count: number[] | null;
    frame_delta: number[] | null;
    flags: number[] | null;
  };
  sacks: {
    from_ns_delta: number[];
    lasted_ns: number[] | null;
    low_delta: number[];
    length: number[];
    twice: number[] | null;
  };
  round_trips: { from_ns_delta: number[]; min_ns: number[]; spread_ns: number[] | null };
  flights: { from_ns_delta: number[]; most: number[] };
  merged: number;
  window_known: boolean;
}

interface PackedQueueing {
  from_ns_delta: number[];
  step_ns: number;
  min_ns: number[];
  mean_ns: number[];
  max_ns: number[];
  least_delay_ns: number;
  lost_ns_delta: number[];
  lost: number;
}

/** Columns of equal length, in order of time. Times are nanoseconds, places bytes of the stream. */
export interface Strokes {
  from: Float64Array;
  to: Float64Array;
  low: Float64Array;
  high: Float64Array;
  count: Float64Array;
  label: Float64Array;
  packets: Packets | null;
}

/** What the header of a row's packet says. */
export interface Packets {
  frame: Float64Array;
  flags: Float64Array;
  ack: Float64Array;
  window: Float64Array;
}

export interface Answers {
  from: Float64Array;
  to: Float64Array;
  ack: Float64Array;
  first: Float64Array;
  /** The window's right edge: the acknowledgment and the window. */
  edge: Float64Array;
  window: Float64Array;
  windowMin: Float64Array;
  count: Float64Array;
  frame: Float64Array | null;
  flags: Float64Array;
}

export interface Sacks {
  from: Float64Array;
  to: Float64Array;
  low: Float64Array;
  high: Float64Array;
  twice: Float64Array;
}

export interface RoundTrips {
  at: Float64Array;
  min: Float64Array;
  max: Float64Array;
}

export interface Picture {
  fresh: Strokes;
  again: Strokes;
  answers: Answers;
  sacks: Sacks;
  roundTrips: RoundTrips;
  /** What was in flight just before each ACK. */
  flights: { at: Float64Array; most: Float64Array };
  merged: number;
  windowKnown: boolean;
}

/** What queues added to the least delay between two recordings, in stretches of `step`, and when packets were lost. */
export interface Queueing {
  from: Float64Array;
  step: number;
  min: Float64Array;
  mean: Float64Array;
  max: Float64Array;
  leastDelay: number;
  lostAt: Float64Array;
  lost: number;
}

/** A stretch of time that one cause bound. */
export interface Spell {
  from: number;
  to: number;
  cause: number;
}

export function readPage(text: string): Page {
  const page = JSON.parse(text) as Page;
  if (page.schema !== "slowpath/page/1") throw new Error(`cannot draw data of schema ${page.schema}`);
  return page;
}

export function spellsOf(flow: Flow): Spell[] {
  let from = flow.first_ns;
  return flow.spells.lasted_ns.map((lasted, place) => {
    const spell = { from, to: from + lasted, cause: flow.spells.cause[place] ?? 0 };
    from += lasted;
    return spell;
  });
}

/** Each value is the sum of the differences up to it. */
function summed(deltas: number[]): Float64Array {
  const values = new Float64Array(deltas.length);
  let value = 0;
  for (let i = 0; i < deltas.length; i++) values[i] = value += deltas[i] as number;
  return values;
}

/** The column, or `usual` throughout where it is left out. */
function column(values: number[] | null, length: number, usual: number): Float64Array {
  return values ? Float64Array.from(values) : new Float64Array(length).fill(usual);
}

function plus(a: Float64Array, b: ArrayLike<number> | null): Float64Array {
  return b ? a.map((value, i) => value + (b[i] as number)) : a;
}

function minus(a: Float64Array, b: ArrayLike<number> | null): Float64Array {
  return b ? a.map((value, i) => value - (b[i] as number)) : a;
}

/** The control bits of a segment that acknowledges, and no more. */
const ACK = 0x10;

function packets(packed: PackedStrokes["packets"]): Packets | null {
  if (!packed) return null;
  const frame = summed(packed.frame_delta);
  return {
    frame,
    flags: column(packed.flags, frame.length, ACK),
    ack: summed(packed.ack_delta),
    window: summed(packed.window_delta),
  };
}

function strokes(packed: PackedStrokes): Strokes {
  const from = summed(packed.from_ns_delta);
  const low = summed(packed.low_delta);
  return {
    from,
    to: plus(from, packed.lasted_ns),
    low,
    high: plus(low, packed.length),
    count: column(packed.count, from.length, 1),
    label: column(packed.label, from.length, 0),
    packets: packets(packed.packets),
  };
}

export function unpack(packed: PackedPicture): Picture {
  const answered = packed.answers;
  const at = summed(answered.from_ns_delta);
  const ack = summed(answered.ack_delta);
  const window = summed(answered.window_delta);
  const sackFrom = summed(packed.sacks.from_ns_delta);
  const sackLow = summed(packed.sacks.low_delta);
  const shortest = Float64Array.from(packed.round_trips.min_ns);
  return {
    fresh: strokes(packed.fresh),
    again: strokes(packed.again),
    answers: {
      from: at,
      to: plus(at, answered.lasted_ns),
      ack,
      first: minus(ack, answered.below),
      edge: plus(ack, window),
      window,
      windowMin: minus(window, answered.window_below),
      count: column(answered.count, at.length, 1),
      frame: answered.frame_delta && summed(answered.frame_delta),
      flags: column(answered.flags, at.length, ACK),
    },
    sacks: {
      from: sackFrom,
      to: plus(sackFrom, packed.sacks.lasted_ns),
      low: sackLow,
      high: plus(sackLow, packed.sacks.length),
      twice: column(packed.sacks.twice, sackFrom.length, 0),
    },
    roundTrips: {
      at: summed(packed.round_trips.from_ns_delta),
      min: shortest,
      max: plus(shortest, packed.round_trips.spread_ns),
    },
    flights: { at: summed(packed.flights.from_ns_delta), most: Float64Array.from(packed.flights.most) },
    merged: packed.merged,
    windowKnown: packed.window_known,
  };
}

export function unpackQueueing(packed: PackedQueueing): Queueing {
  return {
    from: summed(packed.from_ns_delta),
    step: packed.step_ns,
    min: Float64Array.from(packed.min_ns),
    mean: Float64Array.from(packed.mean_ns),
    max: Float64Array.from(packed.max_ns),
    leastDelay: packed.least_delay_ns,
    lostAt: summed(packed.lost_ns_delta),
    lost: packed.lost,
  };
}

/** A cause with the limit that it is of, unless it names that itself. */
export function named(page: Page, cause: number): string {
  const { title, limit } = page.causes[cause] ?? { title: "no data", limit: -1 };
  const { slug, title: of } = page.limits[limit] ?? { slug: "unknown", title: "" };
  const says = ["connection", "application", "path", "unknown"].includes(slug) || title.includes(of);
  return says ? title : `${of}: ${title}`;
}

/** The first place in the sorted `times` that is not before `time`. */
export function firstFrom(times: ArrayLike<number>, time: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] as number) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
