// The time–sequence picture: data, the ACK line, the window's edge, SACK blocks, what was retransmitted.

import { firstFrom, type Page, type Picture, type Spell, type Strokes } from "./data.ts";
import { canvas, colour, el, legendOf } from "./dom.ts";
import { axes, causeColour, clip, type Frame, LEFT, RIGHT, strip, xOf, yOf } from "./plot.ts";
import { bytes, bytesOnAxis, instant } from "./quantity.ts";
import { steer, type View } from "./view.ts";

const HEIGHT = 440;
const TOP = 16;
const BOTTOM = HEIGHT - 26;
/** Marks nearer than this to the pointer get a tooltip. */
const NEAR = 12;
/** More marks than this in sight are drawn small. */
const FEW = 300;
/** The highest column of the rug. */
const RUG = 26;

export function sequencePlot(page: Page, picture: Picture, spells: Spell[], view: View, name: string): HTMLElement {
  const tip = el("div", { class: "tip", role: "status" });
  let frame: Frame | null = null;
  const plot = canvas(`Time–sequence picture of ${name}`, HEIGHT, (context, width) => {
    frame = { context, view, width, top: TOP, bottom: BOTTOM, ...range(picture, view) };
    axes(frame, bytesOnAxis, true, true);
    strip(context, page, spells, {
      left: LEFT, width: width - LEFT - RIGHT, top: 4, height: 8, from: view.from, to: view.to,
    });
    clip(frame);
    tint(frame, page, spells);
    windowEdge(frame, picture);
    drawStrokes(frame, picture.fresh, () => colour("label-new"), 1);
    sackMarks(frame, picture);
    ackLine(frame, picture);
    const inColour = (label: number): string => colour(`label-${page.labels[label] ?? "new"}`);
    const { again } = picture;
    const many = firstFrom(again.from, view.to) - firstFrom(again.from, view.from) > FEW;
    // Many in a small place would hide the data that they are a small part of: the rug shows how many there are.
    drawStrokes(frame, again, inColour, many ? 0.5 : 2);
    rug(frame, again, inColour);
    context.restore();
  });
  view.onChange(plot.redraw);
  steer(plot.element, view, LEFT, RIGHT);
  plot.element.addEventListener("pointermove", (event) => {
    const text = frame && nearest(frame, page, picture, event.offsetX, event.offsetY);
    tip.textContent = text ?? "";
    tip.style.left = `${Math.min(event.offsetX + 14, plot.element.clientWidth - 280)}px`;
    tip.style.top = `${event.offsetY + 16}px`;
    tip.classList.toggle("shown", text !== null && event.buttons === 0);
  });
  plot.element.addEventListener("pointerleave", () => tip.classList.remove("shown"));
  return el("div", { class: "plot" }, plot.element, tip, legend(page, picture));
}

/** The bytes to show: the data and ACKs of the visible time, and the window's edge as far as it is near them. */
function range(picture: Picture, view: View): { low: number; high: number } {
  let low = Infinity;
  let high = -Infinity;
  const take = (a: number, b: number): void => {
    if (a < low) low = a;
    if (b > high) high = b;
  };
  for (const strokes of [picture.fresh, picture.again]) {
    const end = firstFrom(strokes.from, view.to);
    for (let i = firstFrom(strokes.from, view.from); i < end; i++) {
      take(strokes.low[i] as number, strokes.high[i] as number);
    }
  }
  const { answers } = picture;
  const end = firstFrom(answers.from, view.to);
  // The ACK in force where the view begins counts too.
  const start = Math.max(0, firstFrom(answers.from, view.from) - 1);
  let edge = -Infinity;
  for (let i = start; i < end; i++) {
    take(answers.ack[i] as number, answers.ack[i] as number);
    edge = Math.max(edge, answers.edge[i] as number);
  }
  if (!(high > low)) return Number.isFinite(low) ? { low: low - 1, high: low + 1 } : { low: 0, high: 1 };
  const span = high - low;
  if (edge > high) high = Math.min(edge, high + 0.2 * span);
  return { low: low - 0.03 * span, high: high + 0.03 * span };
}

/** The limits behind the picture, faintly. */
function tint(frame: Frame, page: Page, spells: Spell[]): void {
  const { context, view } = frame;
  context.globalAlpha = 0.09;
  for (const spell of spells) {
    if (spell.to < view.from || spell.from > view.to) continue;
    const x0 = Math.max(LEFT, xOf(frame, spell.from));
    const x1 = Math.min(frame.width - RIGHT, xOf(frame, spell.to));
    // What is thinner than a pixel shows in the strip above.
    if (x1 - x0 < 1) continue;
    context.fillStyle = causeColour(page, spell.cause);
    context.fillRect(x0, frame.top, x1 - x0, frame.bottom - frame.top);
  }
  context.globalAlpha = 1;
}

/** Data as upright strokes; those that share a pixel column become one from the lowest to the highest. */
function drawStrokes(frame: Frame, strokes: Strokes, inColour: (label: number) => string, thickness: number): void {
  const { context, view } = frame;
  let start = firstFrom(strokes.from, view.from);
  // Merged strokes may start before the view and reach into it.
  while (start > 0 && (strokes.to[start - 1] as number) >= view.from) start--;
  const end = firstFrom(strokes.from, view.to);
  const columns = new Map<number, Map<number, [number, number]>>();
  // Few are drawn larger, so that each is seen.
  const wide = Math.max(1, Math.round(thickness + (end - start < 1500 ? 1 : 0)));
  for (let i = start; i < end; i++) {
    const x0 = xOf(frame, strokes.from[i] as number);
    const x1 = xOf(frame, strokes.to[i] as number);
    const label = strokes.label[i] as number;
    const low = yOf(frame, strokes.low[i] as number);
    const high = yOf(frame, strokes.high[i] as number);
    if (x1 - x0 > 2) {
      // Several segments, wide enough to see: a slope from the first to the last.
      context.fillStyle = inColour(label);
      context.globalAlpha = 0.55;
      context.beginPath();
      context.moveTo(x0, low);
      context.lineTo(x1, high);
      context.lineTo(x1, Math.min(low, high + 3));
      context.lineTo(x0 + Math.min(3, x1 - x0), low);
      context.closePath();
      context.fill();
      context.lineWidth = Math.max(1, thickness);
      context.strokeStyle = inColour(label);
      context.globalAlpha = 1;
      context.beginPath();
      context.moveTo(x0, low);
      context.lineTo(x1, high);
      context.stroke();
      continue;
    }
    const column = Math.round(x0);
    let byLabel = columns.get(label);
    if (!byLabel) columns.set(label, (byLabel = new Map()));
    const seen = byLabel.get(column);
    if (seen) {
      seen[0] = Math.max(seen[0], low);
      seen[1] = Math.min(seen[1], high);
    } else byLabel.set(column, [low, high]);
  }
  for (const [label, byColumn] of columns) {
    context.fillStyle = inColour(label);
    for (const [x, [low, high]] of byColumn) {
      const tall = Math.max(low - high, wide > 2 ? 5 : wide);
      context.fillRect(x - Math.floor(wide / 2), (low + high - tall) / 2, wide, tall);
    }
  }
}

/** How much was retransmitted when: a column per pixel along the lower edge, the highest where most was. */
function rug(frame: Frame, strokes: Strokes, inColour: (label: number) => string): void {
  const { context, view } = frame;
  const columns = new Map<number, { count: number; label: number }>();
  const end = firstFrom(strokes.from, view.to);
  let most = 0;
  for (let i = firstFrom(strokes.from, view.from); i < end; i++) {
    const x = Math.round(xOf(frame, strokes.from[i] as number));
    const column = columns.get(x) ?? { count: 0, label: strokes.label[i] as number };
    column.count += strokes.count[i] as number;
    // Of several labels the first of the list, a retransmission, is the one that matters.
    column.label = Math.min(column.label, strokes.label[i] as number);
    columns.set(x, column);
    most = Math.max(most, column.count);
  }
  for (const [x, { count, label }] of columns) {
    const tall = Math.max(4, (count / Math.max(most, 4)) * RUG);
    context.fillStyle = inColour(label);
    context.fillRect(x - 1, frame.bottom - tall, 2, tall);
  }
}

/**
 * A line that steps from answer to answer; `above` is how far it lies above the acknowledgment. Several answers that
 * were merged are a slope from the first to the last.
 */
function steps(frame: Frame, picture: Picture, above: (i: number) => number): void {
  const { context, view } = frame;
  const { answers } = picture;
  const start = Math.max(0, firstFrom(answers.from, view.from) - 1);
  const end = Math.min(answers.from.length, firstFrom(answers.from, view.to) + 1);
  if (start >= end) return;
  // Many points in one pixel column: its first, extremes and last are enough.
  let column = NaN;
  let [low, high, last] = [0, 0, 0];
  const point = (x: number, y: number): void => {
    if (Math.round(x) === column) {
      low = Math.max(low, y);
      high = Math.min(high, y);
    } else {
      if (!Number.isNaN(column) && low !== high) {
        context.lineTo(column, low);
        context.lineTo(column, high);
        context.lineTo(column, last);
      }
      if (Number.isNaN(column)) context.moveTo(x, y);
      else context.lineTo(x, y);
      column = Math.round(x);
      [low, high] = [y, y];
    }
    last = y;
  };
  context.beginPath();
  for (let i = start; i < end; i++) {
    const x = xOf(frame, answers.from[i] as number);
    const first = yOf(frame, (answers.first[i] as number) + above(i));
    if (i > start) point(x, last);
    point(x, first);
    const to = answers.to[i] as number;
    if (to > (answers.from[i] as number)) {
      point(xOf(frame, to), yOf(frame, (answers.ack[i] as number) + above(i)));
    }
  }
  if (low !== high) {
    context.lineTo(column, low);
    context.lineTo(column, high);
    context.lineTo(column, last);
  }
  context.stroke();
}

function ackLine(frame: Frame, picture: Picture): void {
  frame.context.strokeStyle = colour("ack");
  frame.context.lineWidth = 1.5;
  steps(frame, picture, () => 0);
}

function windowEdge(frame: Frame, picture: Picture): void {
  const { context } = frame;
  context.strokeStyle = colour("window");
  context.lineWidth = 1.5;
  if (!picture.windowKnown) context.setLineDash([5, 4]);
  steps(frame, picture, (i) => picture.answers.window[i] as number);
  context.setLineDash([]);
  const inForce = Math.max(0, firstFrom(picture.answers.from, frame.view.to) - 1);
  if ((picture.answers.edge[inForce] ?? 0) > frame.high) {
    context.fillStyle = colour("window");
    context.textAlign = "right";
    context.textBaseline = "top";
    context.fillText("the receive window reaches further up ↑", frame.width - RIGHT - 8, frame.top + 6);
  }
  // A closed window, as a diamond on the line.
  const { answers } = picture;
  context.fillStyle = colour("window");
  const end = firstFrom(answers.from, frame.view.to);
  for (let i = firstFrom(answers.from, frame.view.from); i < end; i++) {
    if ((answers.windowMin[i] as number) > 0) continue;
    const [x, y] = [xOf(frame, answers.from[i] as number), yOf(frame, answers.ack[i] as number)];
    context.beginPath();
    context.moveTo(x, y - 5);
    context.lineTo(x + 5, y);
    context.lineTo(x, y + 5);
    context.lineTo(x - 5, y);
    context.fill();
  }
}

function sackMarks(frame: Frame, picture: Picture): void {
  const { context, view } = frame;
  const { sacks } = picture;
  let start = firstFrom(sacks.from, view.from);
  while (start > 0 && (sacks.to[start - 1] as number) >= view.from) start--;
  const end = firstFrom(sacks.from, view.to);
  for (let i = start; i < end; i++) {
    const x = xOf(frame, sacks.from[i] as number);
    const width = Math.max(1, xOf(frame, sacks.to[i] as number) - x);
    const y = yOf(frame, sacks.high[i] as number);
    const tall = Math.max(2, yOf(frame, sacks.low[i] as number) - y);
    context.fillStyle = (sacks.twice[i] as number) > 0 ? colour("dsack") : colour("sack");
    context.globalAlpha = width > 3 ? 0.5 : 1;
    context.fillRect(x, y, width, tall);
  }
  context.globalAlpha = 1;
}

/** What is under the pointer, in words. */
function nearest(frame: Frame, page: Page, picture: Picture, x: number, y: number): string | null {
  const { view } = frame;
  const reach = (NEAR / (frame.width - LEFT - RIGHT)) * view.span;
  const time = view.from + ((x - LEFT) / (frame.width - LEFT - RIGHT)) * view.span;
  let best: { far: number; text: () => string } = { far: NEAR, text: () => "" };
  for (const strokes of [picture.again, picture.fresh]) {
    const end = firstFrom(strokes.from, time + reach);
    for (let i = firstFrom(strokes.from, time - reach); i < end; i++) {
      const [low, high] = [yOf(frame, strokes.low[i] as number), yOf(frame, strokes.high[i] as number)];
      const above = y < high ? high - y : y > low ? y - low : 0;
      const far = Math.hypot(xOf(frame, strokes.from[i] as number) - x, above);
      if (far < best.far) best = { far, text: () => strokeText(page, strokes, i, view.span) };
    }
  }
  const { answers } = picture;
  const end = firstFrom(answers.from, time + reach);
  for (let i = firstFrom(answers.from, time - reach); i < end; i++) {
    const far = Math.hypot(
      xOf(frame, answers.from[i] as number) - x,
      yOf(frame, answers.ack[i] as number) - y,
    );
    if (far < best.far) {
      best = {
        far,
        text: () =>
          `${instant(answers.from[i] as number, view.span / 100)}: ACK up to byte ${answers.ack[i]}, ` +
          `window ${bytes(answers.window[i] as number)}${picture.windowKnown ? "" : " or more"}` +
          many(answers.count[i] as number, "ACKs"),
      };
    }
  }
  return best.far < NEAR ? best.text() : null;
}

function strokeText(page: Page, strokes: Strokes, i: number, span: number): string {
  const label = (page.labels[strokes.label[i] as number] ?? "").replaceAll("-", " ");
  const amount = bytes((strokes.high[i] as number) - (strokes.low[i] as number));
  return (
    `${instant(strokes.from[i] as number, span / 100)}: ${label}, ${amount}, ` +
    `bytes ${strokes.low[i]} to ${(strokes.high[i] as number) - 1}${many(strokes.count[i] as number, "segments")}`
  );
}

function many(count: number, what: string): string {
  return count > 1 ? ` (${count} ${what} in one)` : "";
}

/** Keys of what occurs in the picture. */
function legend(page: Page, picture: Picture): HTMLElement {
  const labels = new Set(picture.again.label);
  const keys: [string, string][] = picture.fresh.from.length > 0 ? [["label-new", "new data"]] : [];
  for (const label of [...labels].sort((a, b) => a - b)) {
    const slug = page.labels[label] ?? "new";
    keys.push([`label-${slug}`, slug.replaceAll("-", " ")]);
  }
  keys.push(["ack", "acknowledged"]);
  keys.push(["window", picture.windowKnown ? "receive window" : "receive window, at least"]);
  if (picture.sacks.from.length > 0) keys.push(["sack", "SACKed"]);
  if (picture.sacks.twice.some((value) => value > 0)) keys.push(["dsack", "came twice (DSACK)"]);
  return legendOf(keys);
}
