// Wheel, drag, pinch, double click and keys over a picture.

import type { Scale, View } from "./view.ts";

/** What a drag does without the shift key; with it, the other. */
export const drag: { box: boolean } = { box: false };

/** Where a picture's values lie, in pixels of its element. */
export interface Area {
  left: number;
  right: number;
  top: number;
  bottom: number;
  low: number;
  high: number;
}

export interface Steered {
  view: View;
  scale: Scale | null;
  /** Where the drawing lies now; `null` before it was drawn. */
  area: () => Area | null;
  /** Shows a box that is being chosen, in pixels; `null` removes it. */
  box: (box: { x: number; y: number; width: number; height: number } | null) => void;
}

/** A box smaller than this is a click. */
const LEAST_BOX = 6;

export function steer(element: HTMLElement, { view, scale, area, box }: Steered): void {
  element.tabIndex = 0;
  const timeAt = (x: number, where: Area): number =>
    view.from + ((x - where.left) / (where.right - where.left)) * view.span;
  const valueAt = (y: number, where: Area): number =>
    where.low + ((where.bottom - y) / (where.bottom - where.top)) * (where.high - where.low);
  const place = (event: { clientX: number; clientY: number }): { x: number; y: number } => {
    const { left, top } = element.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };

  element.addEventListener(
    "wheel",
    (event) => {
      const where = area();
      if (!where) return;
      const { x, y } = place(event);
      const factor = Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200)));
      if (scale && (x < where.left || event.altKey)) {
        event.preventDefault();
        scale.zoom(where, factor, valueAt(y, where));
        return;
      }
      // A page must stay scrollable over a picture that shows everything already.
      if (event.deltaY > 0 && view.isWhole && !event.ctrlKey) return;
      event.preventDefault();
      if (event.shiftKey) view.pan((event.deltaX || event.deltaY) / (where.right - where.left));
      else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) view.pan(event.deltaX / (where.right - where.left));
      else view.zoom(factor, timeAt(x, where));
    },
    { passive: false },
  );

  // What is under each finger or the mouse. One moves or chooses a box, two pinch.
  const down = new Map<number, { x: number; y: number }>();
  let begun: { x: number; y: number; from: number; to: number; where: Area; mode: "move" | "box" | "values" } | null = null;
  let pinch: { apart: { x: number; y: number }; middle: { x: number; y: number }; from: number; to: number; where: Area } | null = null;

  const begin = (event: PointerEvent): void => {
    const where = area();
    if (event.button !== 0 || !where) return;
    down.set(event.pointerId, place(event));
    element.setPointerCapture(event.pointerId);
    const { x, y } = place(event);
    const [one, other] = [...down.values()];
    if (one && other) {
      begun = null;
      box(null);
      const apart = { x: Math.abs(one.x - other.x), y: Math.abs(one.y - other.y) };
      const middle = { x: (one.x + other.x) / 2, y: (one.y + other.y) / 2 };
      pinch = { apart, middle, from: view.from, to: view.to, where };
      return;
    }
    const mode = scale && x < where.left ? "values" : drag.box !== event.shiftKey ? "box" : "move";
    begun = { x, y, from: view.from, to: view.to, where, mode };
  };
  const pinched = (): void => {
    const [one, other] = [...down.values()];
    if (!pinch || !one || !other) return;
    const { where, from, to } = pinch;
    const inner = where.right - where.left;
    const apart = { x: Math.abs(one.x - other.x), y: Math.abs(one.y - other.y) };
    if (scale && pinch.apart.y > 2 * pinch.apart.x) {
      // Fingers above each other zoom the values.
      scale.zoom(where, pinch.apart.y / Math.max(apart.y, 10), valueAt(pinch.middle.y, where));
      return;
    }
    const factor = Math.max(pinch.apart.x, 10) / Math.max(apart.x, 10);
    const anchor = from + ((pinch.middle.x - where.left) / inner) * (to - from);
    const span = Math.min(Math.max((to - from) * factor, view.finest(anchor)), view.last - view.first);
    const start = anchor - (((one.x + other.x) / 2 - where.left) / inner) * span;
    view.set(start, start + span);
  };
  const boxOf = (x: number, y: number): { x: number; y: number; width: number; height: number } | null => {
    if (!begun) return null;
    const { where } = begun;
    const inside = (value: number, low: number, high: number): number => Math.min(Math.max(value, low), high);
    const xs = [begun.x, x].map((one) => inside(one, where.left, where.right)).sort((a, b) => a - b);
    let ys = [begun.y, y].map((one) => inside(one, where.top, where.bottom)).sort((a, b) => a - b);
    // A flat box chooses the time alone.
    if (!scale || (ys[1] as number) - (ys[0] as number) < 3 * LEAST_BOX) ys = [where.top, where.bottom];
    const [x0, x1, y0, y1] = [...xs, ...ys] as [number, number, number, number];
    return { x: x0, y: y0, width: x1 - x0, height: y1 - y0 };
  };

  element.addEventListener("pointerdown", begin);
  element.addEventListener("pointermove", (event) => {
    if (!down.has(event.pointerId)) return;
    const { x, y } = place(event);
    down.set(event.pointerId, { x, y });
    if (pinch) return pinched();
    if (!begun) return;
    const { where, mode } = begun;
    if (mode === "box") return box(boxOf(x, y));
    if (mode === "values" && scale) {
      const moved = ((y - begun.y) / (where.bottom - where.top)) * (where.high - where.low);
      scale.choose(where.low + moved, where.high + moved);
      return;
    }
    const moved = ((x - begun.x) / (where.right - where.left)) * (begun.to - begun.from);
    view.set(begun.from - moved, begun.to - moved);
  });
  const release = (event: PointerEvent): void => {
    const chosen = begun?.mode === "box" && event.type === "pointerup" ? boxOf(place(event).x, place(event).y) : null;
    const where = begun?.where;
    down.delete(event.pointerId);
    if (down.size < 2) pinch = null;
    begun = null;
    box(null);
    if (!chosen || !where || chosen.width < LEAST_BOX) return;
    if (scale && chosen.height < where.bottom - where.top) {
      scale.chosen = { low: valueAt(chosen.y + chosen.height, where), high: valueAt(chosen.y, where) };
    }
    view.set(timeAt(chosen.x, where), timeAt(chosen.x + chosen.width, where));
    view.changed();
  };
  element.addEventListener("pointerup", release);
  element.addEventListener("pointercancel", release);
  element.addEventListener("dblclick", (event) => {
    const where = area();
    if (!where) return;
    const { x } = place(event);
    if (scale && x < where.left) scale.reset();
    else view.zoom(0.25, timeAt(x, where));
  });

  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const where = area();
    const values = (factor: number): void => {
      if (scale && where) scale.zoom(where, factor);
    };
    const up = event.shiftKey ? () => values(0.5) : () => view.zoom(0.5);
    const below = event.shiftKey ? () => values(2) : () => view.zoom(2);
    const actions: Record<string, () => void> = {
      ArrowLeft: () => view.pan(-0.2),
      ArrowRight: () => view.pan(0.2),
      PageUp: () => view.pan(-0.9),
      PageDown: () => view.pan(0.9),
      "+": () => view.zoom(0.5),
      "=": () => view.zoom(0.5),
      "-": () => view.zoom(2),
      ArrowUp: up,
      ArrowDown: below,
      "0": () => view.reset(),
      Home: () => view.reset(),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}
