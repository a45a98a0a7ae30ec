// How much was delivered until when, from marks that may stand for several segments.

import { firstFrom } from "./data.ts";

/** A stream that grows: each mark carries it from `low` to `high`, over the time from `from` to `to`. */
export class Delivered {
  /** How far the stream had come before and after each mark. */
  private readonly before: Float64Array;
  private readonly after: Float64Array;

  constructor(
    private readonly from: Float64Array,
    private readonly to: Float64Array,
    low: Float64Array,
    high: Float64Array,
  ) {
    this.before = new Float64Array(from.length);
    this.after = new Float64Array(from.length);
    // What was there before the first mark was not delivered in the time that is shown.
    let reached = low[0] ?? 0;
    for (let i = 0; i < from.length; i++) {
      this.before[i] = reached;
      reached = Math.max(reached, high[i] as number);
      this.after[i] = reached;
    }
  }

  /** Bytes before `time`. */
  private until(time: number): number {
    const place = firstFrom(this.from, time) - 1;
    if (place < 0) return this.before[0] ?? 0;
    const [from, to] = [this.from[place] as number, this.to[place] as number];
    const [before, after] = [this.before[place] as number, this.after[place] as number];
    return time >= to ? after : before + ((after - before) * (time - from)) / (to - from);
  }

  /** Bytes from `from` on, before `to`. */
  between(from: number, to: number): number {
    return this.until(to) - this.until(from);
  }
}
