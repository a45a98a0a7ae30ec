// The stretch of time that all pictures of a flow show, and the range of values of one of them.

/** Nothing is finer than a capture's clock: in nanoseconds. */
const LEAST_SPAN = 1000;

export class View {
  from: number;
  to: number;
  /** The shortest stretch to show around an instant: that of a few packets. */
  finest: (at: number) => number = () => LEAST_SPAN;
  private readonly listeners: (() => void)[] = [];
  private readonly scales: Scale[] = [];

  constructor(
    readonly first: number,
    readonly last: number,
  ) {
    this.from = first;
    this.to = last;
  }

  get span(): number {
    return this.to - this.from;
  }

  get isWhole(): boolean {
    return this.from <= this.first && this.to >= this.last;
  }

  /** Whether nothing is zoomed, values included. */
  get isUntouched(): boolean {
    return this.isWhole && this.scales.every((scale) => scale.chosen === null);
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  changed(): void {
    for (const listener of this.listeners) listener();
  }

  /** The values of a picture on this time. */
  scale(): Scale {
    const scale = new Scale(this);
    this.scales.push(scale);
    return scale;
  }

  /** Shows from `from` to `to`, moved and cut so that it lies inside the flow's life and has a few packets. */
  set(from: number, to: number): void {
    const whole = this.last - this.first;
    const least = Math.max(LEAST_SPAN, this.finest((from + to) / 2));
    const span = Math.min(Math.max(to - from, least), whole);
    if (to - from < span) from = (from + to - span) / 2;
    const start = Math.min(Math.max(from, this.first), this.last - span);
    if (start === this.from && start + span === this.to) return;
    this.from = start;
    this.to = start + span;
    this.changed();
  }

  /** Shows `factor` times as long, with what is at `anchor` staying in its place. */
  zoom(factor: number, anchor = (this.from + this.to) / 2): void {
    const least = Math.max(LEAST_SPAN, this.finest(anchor));
    const span = Math.min(Math.max(this.span * factor, Math.min(least, this.span)), this.last - this.first);
    const part = (anchor - this.from) / this.span;
    this.set(anchor - part * span, anchor - part * span + span);
  }

  /** Moves by `part` of what is shown. */
  pan(part: number): void {
    this.set(this.from + part * this.span, this.to + part * this.span);
  }

  /** Puts `at` in the middle of a stretch around it. */
  lookAt(at: number): void {
    const span = Math.min(this.last - this.first, Math.max((this.last - this.first) / 40, 2e7));
    this.set(at - span / 4, at + (span * 3) / 4);
  }

  /** Shows all of the time, and all values. */
  reset(): void {
    for (const scale of this.scales) scale.chosen = null;
    this.from = this.first;
    this.to = this.last;
    this.changed();
  }
}

/** The values that a picture shows: those in sight, unless some are chosen. */
export class Scale {
  chosen: { low: number; high: number } | null = null;

  constructor(private readonly view: View) {}

  choose(low: number, high: number): void {
    if (!(high - low > Math.abs(high) * 1e-12)) return;
    this.chosen = { low, high };
    this.view.changed();
  }

  /** Shows `factor` times as many values of `shown`, with `anchor` staying in its place. */
  zoom(shown: { low: number; high: number }, factor: number, anchor = (shown.low + shown.high) / 2): void {
    this.choose(anchor - (anchor - shown.low) * factor, anchor + (shown.high - anchor) * factor);
  }

  reset(): void {
    this.chosen = null;
    this.view.changed();
  }
}
