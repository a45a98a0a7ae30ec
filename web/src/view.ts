// The stretch of time that all pictures of a flow show.

export class View {
  from: number;
  to: number;
  private readonly listeners: (() => void)[] = [];

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

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Shows from `from` to `to`, moved and cut so that it lies inside the flow's life. */
  set(from: number, to: number): void {
    const whole = this.last - this.first;
    // Nothing is finer than a capture's clock.
    const span = Math.min(Math.max(to - from, 1000), whole);
    const start = Math.min(Math.max(from, this.first), this.last - span);
    if (start === this.from && start + span === this.to) return;
    this.from = start;
    this.to = start + span;
    for (const listener of this.listeners) listener();
  }

  /** Shows `factor` times as long, with what is at `anchor` staying in its place. */
  zoom(factor: number, anchor = (this.from + this.to) / 2): void {
    const span = Math.min(this.span * factor, this.last - this.first);
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

  reset(): void {
    this.set(this.first, this.last);
  }
}

/**
 * Lets wheel, drag, double click and keys move `view` over `element`, whose drawing lies between the margins and shows
 * the view, unless `placed` says which time lies where.
 */
export function steer(
  element: HTMLElement,
  view: View,
  left: number,
  right: number,
  placed?: (x: number) => number,
): void {
  element.tabIndex = 0;
  const width = (): number => Math.max(1, element.clientWidth - left - right);
  const timeAt = placed ?? ((x: number): number => view.from + ((x - left) / width()) * view.span);

  element.addEventListener(
    "wheel",
    (event) => {
      // A page must stay scrollable over a picture that shows everything already.
      if (event.deltaY > 0 && view.isWhole && !event.ctrlKey) return;
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) view.pan(event.deltaX / width());
      else view.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200))), timeAt(event.offsetX));
    },
    { passive: false },
  );

  let grabbed: { x: number; from: number; to: number } | null = null;
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    grabbed = { x: event.clientX, from: view.from, to: view.to };
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener("pointermove", (event) => {
    if (!grabbed) return;
    const moved = ((event.clientX - grabbed.x) / width()) * (grabbed.to - grabbed.from);
    view.set(grabbed.from - moved, grabbed.to - moved);
  });
  const release = (): void => {
    grabbed = null;
  };
  element.addEventListener("pointerup", release);
  element.addEventListener("pointercancel", release);
  element.addEventListener("dblclick", (event) => view.zoom(0.25, timeAt(event.offsetX)));

  element.addEventListener("keydown", (event) => {
    const actions: Record<string, () => void> = {
      ArrowLeft: () => view.pan(-0.2),
      ArrowRight: () => view.pan(0.2),
      PageUp: () => view.pan(-0.9),
      PageDown: () => view.pan(0.9),
      "+": () => view.zoom(0.5),
      "=": () => view.zoom(0.5),
      ArrowUp: () => view.zoom(0.5),
      "-": () => view.zoom(2),
      ArrowDown: () => view.zoom(2),
      "0": () => view.reset(),
      Home: () => view.reset(),
    };
    const action = actions[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  });
}
