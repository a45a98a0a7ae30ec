// The time–sequence picture: data, the ACK line, the window's edge, SACK blocks, what was retransmitted.

import type { Comparison } from "./compare.ts";
import { windowLabel, zeroWindows } from "./curves.ts";
import { firstFrom, type Page, type Picture, type Spell, type Strokes } from "./data.ts";
import { colour, type Key } from "./dom.ts";
import { answerTip, labelOf, strokeTip } from "./packets.ts";
import { type Frame, type Hit, NEAR, timeOf, type Tip, xOf, yOf } from "./frame.ts";
import { figure, strip } from "./plot.ts";
import { bytes, bytesOnAxis } from "./quantity.ts";
import { View } from "./view.ts";

const HEIGHT = 420;
const TOP = 16;
/** More marks than this in sight are drawn small. */
const FEW = 300;

export function sequencePlot(page: Page, picture: Picture, spells: Spell[], view: View, file: string, comparison: Comparison): HTMLElement {
  const inColour = (label: number): string => colour(`label-${page.labels[label] ?? "new"}`);
  return figure({
    title: "Time and sequence", file: `${file}-sequence`, height: HEIGHT, view, top: TOP,
    range: () => range(picture, view), text: bytesOnAxis, binary: true, keys: legend(page, picture),
    draw: (frame) => {
      tint(frame, page, spells);
      windowEdge(frame, picture);
      drawStrokes(frame, picture.fresh, () => colour("label-new"), 1);
      sackMarks(frame, picture);
      ackLine(frame, picture, "ack", 1.5);
      const { again } = picture;
      const many = firstFrom(again.from, view.to) - firstFrom(again.from, view.from) > FEW;
      // Many in a small place would hide the data that they are a small part of: the events below show how many.
      drawStrokes(frame, again, inColour, many ? 0.5 : 2);
      zeroWindows(frame, picture, (i) => picture.answers.ack[i] as number);
      const { other } = comparison;
      if (other) ackLine(shifted(frame, other.shift), other.picture, "other", 2);
    },
    moreKeys: () => {
      const { other } = comparison;
      return other ? [{ colour: "other", text: `acknowledged, ${other.name}`, shape: "line" }] : [];
    },
    over: (frame) => {
      const { left, right } = frame;
      strip(frame.context, page, spells, { left, width: right - left, top: 4, height: 8, from: view.from, to: view.to });
      beyond(frame, picture);
    },
    near: (frame, x, y) => nearest(frame, page, picture, x, y),
  });
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
  const { context, view, left, right } = frame;
  context.globalAlpha = 0.09;
  strip(context, page, spells, {
    left, width: right - left, top: frame.top, height: frame.bottom - frame.top, from: view.from, to: view.to,
  });
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
  const wide = Math.max(1, Math.round(thickness + (end - start < 80 ? 2 : end - start < 1500 ? 1 : 0)));
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

/** `frame`, for marks whose times are to be moved by `shift`. */
function shifted(frame: Frame, shift: number): Frame {
  const view = new View(frame.view.first - shift, frame.view.last - shift);
  view.from = frame.view.from - shift;
  view.to = frame.view.to - shift;
  return { ...frame, view };
}

function ackLine(frame: Frame, picture: Picture, name: string, wide: number): void {
  frame.context.strokeStyle = colour(name);
  frame.context.lineWidth = wide;
  steps(frame, picture, () => 0);
}

function windowEdge(frame: Frame, picture: Picture): void {
  const { context } = frame;
  context.strokeStyle = colour("window");
  context.lineWidth = 1.5;
  if (!picture.windowKnown) context.setLineDash([5, 4]);
  steps(frame, picture, (i) => picture.answers.window[i] as number);
  context.setLineDash([]);
}

/** Where the window's edge is out of sight, a dashed line along the upper edge and how far it reaches. */
function beyond(frame: Frame, picture: Picture): void {
  const { context, view, top } = frame;
  const { answers } = picture;
  const end = firstFrom(answers.from, view.to + 1);
  let most = 0;
  context.strokeStyle = colour("window");
  context.lineWidth = 1.5;
  context.setLineDash([2, 4]);
  context.beginPath();
  for (let i = Math.max(0, firstFrom(answers.from, view.from) - 1); i < end; i++) {
    if ((answers.edge[i] as number) <= frame.high) continue;
    most = Math.max(most, answers.window[i] as number);
    context.moveTo(Math.max(frame.left, xOf(frame, answers.from[i] as number)), top + 1);
    context.lineTo(Math.min(frame.right, xOf(frame, answers.from[i + 1] ?? view.last)), top + 1);
  }
  context.stroke();
  context.setLineDash([]);
  if (most > 0) windowLabel(frame, `receive window: up to ${bytes(most)} ahead ↑`);
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

/** What is under the pointer. */
function nearest(frame: Frame, page: Page, picture: Picture, x: number, y: number): Hit | null {
  const { view } = frame;
  const reach = (NEAR / (frame.right - frame.left)) * view.span;
  const time = timeOf(frame, x);
  let best: Hit | null = null;
  const take = (far: number, tip: () => Tip): void => {
    if (far < (best?.far ?? NEAR)) best = { far, tip };
  };
  for (const strokes of [picture.again, picture.fresh]) {
    const end = firstFrom(strokes.from, time + reach);
    for (let i = firstFrom(strokes.from, time - reach); i < end; i++) {
      const [low, high] = [yOf(frame, strokes.low[i] as number), yOf(frame, strokes.high[i] as number)];
      const above = y < high ? high - y : y > low ? y - low : 0;
      take(Math.hypot(xOf(frame, strokes.from[i] as number) - x, above), () => strokeTip(page, strokes, i, view.span));
    }
  }
  const { answers } = picture;
  const end = firstFrom(answers.from, time + reach);
  for (let i = firstFrom(answers.from, time - reach); i < end; i++) {
    const far = Math.hypot(xOf(frame, answers.from[i] as number) - x, yOf(frame, answers.ack[i] as number) - y);
    take(far, () => answerTip(answers, i, view.span, picture.windowKnown));
  }
  return best;
}

/** Keys of what occurs in the picture. */
function legend(page: Page, picture: Picture): Key[] {
  const labels = new Set(picture.again.label);
  const keys: Key[] = picture.fresh.from.length > 0 ? [{ colour: "label-new", text: "new data" }] : [];
  for (const label of [...labels].sort((a, b) => a - b)) {
    keys.push({ colour: `label-${page.labels[label] ?? "new"}`, text: labelOf(page, label) });
  }
  keys.push({ colour: "ack", text: "acknowledged", shape: "line" });
  const { answers, sacks, windowKnown } = picture;
  keys.push({
    colour: "window",
    text: windowKnown ? "receive window" : "receive window, at least",
    shape: windowKnown ? "line" : "dashed",
  });
  if (answers.windowMin.some((value) => value === 0)) {
    keys.push({ colour: "zero-window", text: "zero window", shape: "diamond" });
  }
  if (sacks.from.length > 0) keys.push({ colour: "sack", text: "SACKed" });
  if (sacks.twice.some((value) => value > 0)) keys.push({ colour: "dsack", text: "came twice (DSACK)" });
  return keys;
}
