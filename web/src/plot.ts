// What the pictures have in common: margins, axes, legend, tooltip, zoom, and the band of limits behind.

import type { Page, Spell } from "./data.ts";
import { canvas, colour, el, legendOf, type Pen } from "./dom.ts";
import { FONT, type Frame, leftOf, type Picture, RIGHT, type Tip, timeOf, xOf, yOf } from "./frame.ts";
import { saveButtons } from "./save.ts";
import { drag, steer } from "./steer.ts";
import { instantOnAxis, ticks } from "./quantity.ts";

/** The height of the labels of the time axis. */
const TIMES = 20;
/** A picture with its title, legend, tooltip and buttons, which zooms together with the others of its view. */
export function figure(picture: Picture): HTMLElement {
  const { view, height, title } = picture;
  const scale = picture.text ? view.scale() : null;
  let frame: Frame | null = null;
  const note = el("span", { class: "note" });
  const legend = legendOf(picture.keys);
  const render = (context: Pen, width: number, tall: number): Frame => {
    const { low, high } = scale?.chosen ?? picture.range();
    const place: Frame = {
      context, view, left: leftOf(width), right: width - RIGHT, top: picture.top ?? 8, bottom: tall - TIMES, low, high,
    };
    axes(place, picture.text, picture.binary ?? false);
    clip(place);
    picture.draw(place);
    context.restore();
    picture.over?.(place);
    return place;
  };
  const plot = canvas(title, height, (context, width, tall) => {
    frame = null;
    context.globalAlpha = 1;
    clear(context, width, tall);
    frame = render(context, width, tall);
    if (picture.note) note.textContent = picture.note();
    const keys = [...picture.keys, ...(picture.moreKeys?.() ?? [])];
    if (keys.length !== legend.childElementCount) legend.replaceChildren(...legendOf(keys).children);
  });
  view.onChange(plot.redraw);

  const tip = el("div", { class: "tip", role: "status" });
  const box = el("div", { class: "box", hidden: "" });
  const cursor = el("div", { class: "cursor", hidden: "" });
  const element = plot.element;
  steer(element, {
    view,
    scale,
    area: () => frame,
    box: (place) => {
      box.hidden = place === null;
      if (!place) return;
      const { x, y, width, height } = place;
      box.style.cssText = `left:${x}px;top:${y}px;width:${width}px;height:${height}px`;
    },
  });
  element.addEventListener("pointermove", (event) => {
    element.style.cursor = !frame || event.offsetX < frame.left ? "ns-resize" : drag.box !== event.shiftKey ? "crosshair" : "";
    const inside = frame !== null && event.offsetX >= frame.left && event.offsetX <= frame.right;
    pointAt(inside && frame ? timeOf(frame, event.offsetX) : null);
    const hit = frame && inside && event.buttons === 0 ? picture.near(frame, event.offsetX, event.offsetY) : null;
    showTip(tip, hit ? hit.tip() : null, event.offsetX, event.offsetY, element.clientWidth);
  });
  element.addEventListener("pointerleave", () => {
    pointAt(null);
    showTip(tip, null, 0, 0, 0);
  });
  // A line in all pictures at the time under the pointer.
  const pointAt = (time: number | null): void => {
    element.dispatchEvent(new CustomEvent("pointed", { bubbles: true, detail: time }));
  };
  const point = (time: number | null): void => {
    cursor.hidden = time === null || !frame || time < view.from || time > view.to;
    if (frame && !cursor.hidden) {
      const x = xOf(frame, time as number);
      cursor.style.cssText = `left:${x}px;top:${frame.top}px;height:${frame.bottom - frame.top}px`;
    }
  };
  const save = saveButtons(picture, render, () => element.clientWidth);
  const all = el(
    "figure",
    {},
    el("figcaption", {}, el("span", { class: "title" }, title), note, legend, save),
    el("div", { class: "plot" }, element, cursor, box, tip),
  );
  pointers.set(all, point);
  return all;
}

const pointers = new WeakMap<Element, (time: number | null) => void>();

/** Shows the time under the pointer in all pictures below `root`. */
export function sharePointer(root: HTMLElement): void {
  root.addEventListener("pointed", (event) => {
    const time = (event as CustomEvent<number | null>).detail;
    for (const figure of root.querySelectorAll("figure")) pointers.get(figure)?.(time);
  });
}

/** Shows a tip next to a point, or hides it. */
export function showTip(element: HTMLElement, tip: Tip | null, x: number, y: number, width: number): void {
  element.classList.toggle("shown", tip !== null);
  if (!tip) return;
  element.replaceChildren(
    el("strong", {}, tip.title),
    el("dl", {}, ...tip.rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
  );
  const most = width - element.offsetWidth - 4;
  element.style.left = `${Math.max(0, x + 16 > most ? x - element.offsetWidth - 12 : x + 16)}px`;
  element.style.top = `${y + 16}px`;
}

function clear(context: Pen, width: number, height: number): void {
  context.fillStyle = colour("ground");
  context.fillRect(0, 0, width, height);
}

/** Draws the axes. */
function axes(frame: Frame, text: Picture["text"], binary: boolean): void {
  const { context, left, right, top, bottom } = frame;
  context.font = FONT;
  context.lineWidth = 1;
  context.strokeStyle = colour("grid");
  context.fillStyle = colour("faint");
  context.textAlign = "right";
  context.textBaseline = "middle";
  if (text) {
    const values = ticks(frame.low, frame.high, (bottom - top) / 28, binary);
    const step = (values[1] ?? frame.high) - (values[0] ?? frame.low);
    for (const value of values) {
      const y = Math.round(yOf(frame, value)) + 0.5;
      line(context, left, y, right, y);
      context.fillText(text(value, step, Math.max(Math.abs(frame.low), frame.high)), left - 8, y);
    }
  }
  context.textAlign = "center";
  context.textBaseline = "top";
  const { base, ticks: times } = timeTicks(frame.view.from, frame.view.to, right - left);
  for (const { at, text } of times) {
    const x = Math.round(xOf(frame, at)) + 0.5;
    line(context, x, top, x, bottom);
    // A label must not leave the picture, nor run into the base at its left.
    if (x + text.length * 3 <= right + RIGHT && (base === null || x - text.length * 3 > left)) {
      context.fillText(text, x, bottom + 6);
    }
  }
  if (base !== null) {
    context.textAlign = "right";
    context.fillText(base, left - 8, bottom + 6);
  }
}

/**
 * Round instants from `from` to `to`, in nanoseconds, as many as there is room for, with their texts. Where these would
 * have many digits in common, they are relative to a base.
 */
export function timeTicks(
  from: number,
  to: number,
  width: number,
): { base: string | null; ticks: { at: number; text: string }[] } {
  const wanted = width / 80;
  const step = (all: number[], span: number): number => (all.length > 1 ? (all[1] as number) - (all[0] as number) : span);
  const seconds = ticks(from / 1e9, to / 1e9, wanted, false);
  const apart = step(seconds, (to - from) / 1e9);
  if (apart > 0.9e-4) {
    return { base: null, ticks: seconds.map((one) => ({ at: one * 1e9, text: instantOnAxis(one, apart) })) };
  }
  const base = Math.floor(from / 1e6) * 1e6;
  const micros = ticks((from - base) / 1e3, (to - base) / 1e3, wanted, false);
  const decimals = Math.min(3, Math.max(0, Math.ceil(-Math.log10(step(micros, (to - from) / 1e3)) - 1e-9)));
  return {
    base: `${(base / 1e9).toFixed(3)} s`,
    ticks: micros.map((one) => ({ at: base + one * 1e3, text: `+${one.toFixed(decimals)} µs` })),
  };
}

export function line(context: Pen, x0: number, y0: number, x1: number, y1: number): void {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}

/** Keeps what follows inside the axes until `context.restore()`. */
function clip(frame: Frame): void {
  frame.context.save();
  frame.context.beginPath();
  frame.context.rect(frame.left, frame.top, frame.right - frame.left, frame.bottom - frame.top);
  frame.context.clip();
}

/** The colour of a cause: that of its limit. */
export function causeColour(page: Page, cause: number): string {
  const limit = page.causes[cause]?.limit ?? -1;
  return colour(`limit-${page.limits[limit]?.slug ?? "none"}`);
}

/** No spell, not even one without a cause. */
const EMPTY = -2;
/** Spells narrower than this are drawn as one with their neighbours. */
const CELL = 3;

/**
 * Spells over `from` to `to` as runs of pixels in `width`. Where several share a few pixels, what limited for most of
 * these is the one that shows.
 */
export function runsOf(
  spells: Spell[],
  area: { width: number; from: number; to: number },
): { x: number; width: number; cause: number }[] {
  const scale = area.width / (area.to - area.from);
  const cells = Math.max(1, Math.ceil(area.width / CELL));
  const times = new Map<number, Float64Array>();
  const most = new Float64Array(cells);
  const shown = new Int32Array(cells).fill(EMPTY);
  for (const spell of spells) {
    const x0 = ((spell.from - area.from) * scale) / CELL;
    const x1 = ((spell.to - area.from) * scale) / CELL;
    if (x1 < 0 || x0 > cells) continue;
    let time = times.get(spell.cause);
    if (!time) times.set(spell.cause, (time = new Float64Array(cells)));
    const end = Math.min(cells - 1, Math.floor(x1));
    for (let cell = Math.max(0, Math.floor(x0)); cell <= end; cell++) {
      const sum = (time[cell] as number) + Math.min(x1, cell + 1) - Math.max(x0, cell);
      time[cell] = sum;
      if (sum > (most[cell] as number)) {
        most[cell] = sum;
        shown[cell] = spell.cause;
      }
    }
  }
  const runs: { x: number; width: number; cause: number }[] = [];
  for (let cell = 0; cell < cells; ) {
    const cause = shown[cell] as number;
    let end = cell + 1;
    while (end < cells && shown[end] === cause) end++;
    const x = cell * CELL;
    if (cause !== EMPTY) runs.push({ x, width: Math.min(end * CELL, area.width) - x, cause });
    cell = end;
  }
  return runs;
}

/** Spells as a strip between two heights. */
export function strip(
  context: Pen,
  page: Page,
  spells: Spell[],
  area: { left: number; width: number; top: number; height: number; from: number; to: number },
): void {
  for (const { x, width, cause } of runsOf(spells, area)) {
    context.fillStyle = causeColour(page, cause);
    context.fillRect(area.left + x, area.top, width, area.height);
  }
}
