// How much was delivered until when, from marks that may stand for several segments.

import { firstFrom, type Picture } from "./data.ts";

/** A stream that grows: at each mark, over the time from `from` to `to`, it comes as far as `after`. */
export class Delivered {
  constructor(
    private readonly from: ArrayLike<number>,
    private readonly to: ArrayLike<number>,
    private readonly after: ArrayLike<number>,
    /** How far it had come before. */
    private readonly start: number,
  ) {}

  /** Bytes before `time`. */
  private until(time: number): number {
    const place = firstFrom(this.from, time) - 1;
    if (place < 0) return this.start;
    const [from, to] = [this.from[place] as number, this.to[place] as number];
    const before = place > 0 ? (this.after[place - 1] as number) : this.start;
    const after = this.after[place] as number;
    return time >= to ? after : before + ((after - before) * (time - from)) / (to - from);
  }

  /** Bytes from `from` on, before `to`. */
  between(from: number, to: number): number {
    return this.until(to) - this.until(from);
  }
}

/** New data as it was sent. */
export function sentOf({ fresh }: Picture): Delivered {
  const after = new Float64Array(fresh.from.length);
  const start = fresh.low[0] ?? 0;
  let reached = start;
  fresh.high.forEach((high, i) => {
    reached = Math.max(reached, high);
    after[i] = reached;
  });
  return new Delivered(fresh.from, fresh.to, after, start);
}

/** Data as the receiver said that it came: acknowledged, or before that in a SACK block. */
export function deliveredOf({ answers, sacks }: Picture): Delivered {
  const [from, to, after]: [number[], number[], number[]] = [[], [], []];
  const early = new Ranges();
  // What was acknowledged before the first answer was not delivered in the time that is shown.
  let acknowledged = answers.first[0] ?? 0;
  let delivered = 0;
  const note = (since: number, until: number, bytes: number): void => {
    if (bytes <= 0) return;
    from.push(since);
    to.push(until);
    after.push((delivered += bytes));
  };
  let next = 0;
  const sacked = (before: number): void => {
    for (; next < sacks.from.length && (sacks.from[next] as number) <= before; next++) {
      if (sacks.twice[next]) continue;
      const low = Math.max(sacks.low[next] as number, acknowledged);
      note(sacks.from[next] as number, sacks.to[next] as number, early.add(low, sacks.high[next] as number));
    }
  };
  answers.from.forEach((at, i) => {
    // An ACK's own block is above what it acknowledges.
    sacked(at - 1);
    const ack = answers.ack[i] as number;
    if (ack > acknowledged) {
      note(at, answers.to[i] as number, ack - acknowledged - early.cut(ack));
      acknowledged = ack;
    }
  });
  sacked(Infinity);
  return new Delivered(from, to, after, 0);
}

/** Bytes in ranges that do not overlap, in order. */
class Ranges {
  private all: [number, number][] = [];

  /** Adds a range; how many of its bytes are new. */
  add(low: number, high: number): number {
    if (high <= low) return 0;
    let fresh = high - low;
    let place = 0;
    while (place < this.all.length && (this.all[place]?.[1] as number) < low) place++;
    let end = place;
    let joined: [number, number] = [low, high];
    for (let range = this.all[end]; range && range[0] <= high; range = this.all[++end]) {
      fresh -= Math.max(0, Math.min(high, range[1]) - Math.max(low, range[0]));
      joined = [Math.min(joined[0], range[0]), Math.max(joined[1], range[1])];
    }
    this.all.splice(place, end - place, joined);
    return fresh;
  }

  /** Removes what is below `limit`; how many bytes that were. */
  cut(limit: number): number {
    let bytes = 0;
    while (this.all.length > 0) {
      const [low, high] = this.all[0] as [number, number];
      if (low >= limit) break;
      bytes += Math.min(high, limit) - low;
      if (high > limit) {
        this.all[0] = [limit, high];
        break;
      }
      this.all.shift();
    }
    return bytes;
  }
}
