// What the pictures have in common: margins, the time axis, a second axis, the band of limits behind.

import type { Page, Spell } from "./data.ts";
import { colour } from "./dom.ts";
import { instantOnAxis, ticks } from "./quantity.ts";
import type { View } from "./view.ts";

export const LEFT = 76;
export const RIGHT = 12;

/** Where things lie in a picture. */
export interface Frame {
  context: CanvasRenderingContext2D;
  view: View;
  width: number;
  top: number;
  bottom: number;
  low: number;
  high: number;
}

export function xOf(frame: Frame, time: number): number {
  return LEFT + ((time - frame.view.from) / frame.view.span) * (frame.width - LEFT - RIGHT);
}

export function yOf(frame: Frame, value: number): number {
  return frame.bottom - ((value - frame.low) / (frame.high - frame.low)) * (frame.bottom - frame.top);
}

/** Clears the picture and draws its axes. */
export function axes(frame: Frame, text: (value: number, step: number) => string, binary: boolean, times: boolean): void {
  const { context, width, top, bottom } = frame;
  context.clearRect(0, 0, width, context.canvas.height);
  context.font = "11px system-ui, sans-serif";
  context.lineWidth = 1;
  context.strokeStyle = colour("grid");
  context.fillStyle = colour("faint");
  context.textAlign = "right";
  context.textBaseline = "middle";
  const values = ticks(frame.low, frame.high, (bottom - top) / 36, binary);
  const step = (values[1] ?? frame.high) - (values[0] ?? frame.low);
  for (const value of values) {
    const y = Math.round(yOf(frame, value)) + 0.5;
    line(context, LEFT, y, width - RIGHT, y);
    context.fillText(text(value, step), LEFT - 8, y);
  }
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const { at, text } of timeTicks(frame.view.from, frame.view.to, width)) {
    const x = Math.round(xOf(frame, at)) + 0.5;
    line(context, x, top, x, bottom);
    if (times) context.fillText(text, Math.min(x, width - 30), bottom + 6);
  }
}

/** Round instants from `from` to `to`, in nanoseconds, as many as there is room for, with their texts. */
export function timeTicks(from: number, to: number, width: number): { at: number; text: string }[] {
  const all = ticks(from / 1e9, to / 1e9, width / 110, false);
  const step = all.length > 1 ? (all[1] as number) - (all[0] as number) : (to - from) / 1e9;
  return all.map((seconds) => ({ at: seconds * 1e9, text: instantOnAxis(seconds, step) }));
}

export function line(context: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number): void {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}

/** Keeps what follows inside the axes until `context.restore()`. */
export function clip(frame: Frame): void {
  frame.context.save();
  frame.context.beginPath();
  frame.context.rect(LEFT, frame.top, frame.width - LEFT - RIGHT, frame.bottom - frame.top);
  frame.context.clip();
}

/** The colour of a cause: that of its limit. */
export function causeColour(page: Page, cause: number): string {
  const limit = page.causes[cause]?.limit ?? 0;
  return colour(`limit-${page.limits[limit]?.slug ?? "unknown"}`);
}

/**
 * Spells as a strip between two heights, over `from` to `to`. Where several share a pixel, what limited for most of it
 * shows.
 */
export function strip(
  context: CanvasRenderingContext2D,
  page: Page,
  spells: Spell[],
  area: { left: number; width: number; top: number; height: number; from: number; to: number },
): void {
  const scale = area.width / (area.to - area.from);
  const columns = Math.ceil(area.width);
  const most = new Float64Array(columns);
  const shown = new Int32Array(columns).fill(-1);
  for (const spell of spells) {
    const x0 = (spell.from - area.from) * scale;
    const x1 = (spell.to - area.from) * scale;
    if (x1 < 0 || x0 > area.width) continue;
    const end = Math.min(columns - 1, Math.floor(x1));
    for (let x = Math.max(0, Math.floor(x0)); x <= end; x++) {
      const overlap = Math.min(x1, x + 1) - Math.max(x0, x);
      if (overlap > (most[x] as number)) {
        most[x] = overlap;
        shown[x] = spell.cause;
      }
    }
  }
  for (let x = 0; x < columns; ) {
    const cause = shown[x] as number;
    let end = x + 1;
    while (end < columns && shown[end] === cause) end++;
    if (cause >= 0) {
      context.fillStyle = causeColour(page, cause);
      context.fillRect(area.left + x, area.top, end - x, area.height);
    }
    x = end;
  }
}
