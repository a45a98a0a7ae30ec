// What happened when, a row for each kind: retransmissions and other rare data, zero windows, losses, pauses.

import { firstFrom, type Flow, type Page, type Picture, type Queueing } from "./data.ts";
import { colour } from "./dom.ts";
import { strokeTip } from "./packets.ts";
import { FONT, type Frame, type Hit, type Tip, timeOf, xOf } from "./frame.ts";
import { figure } from "./plot.ts";
import { duration, instant, number } from "./quantity.ts";
import type { View } from "./view.ts";

const ROW = 26;
/** With less room at the left than this, names are shortened. */
const WIDE = 80;
/** Bars nearer than this to the pointer get a tooltip. */
const NEAR = 6;

/** Zooming in ends at so many packets. */
const PACKETS = 5;

/** What a row shows: bars from `from` to `to`, each of `count` events. */
interface Row {
  name: [string, string];
  colour: string;
  from: ArrayLike<number>;
  to: ArrayLike<number>;
  count: ArrayLike<number> | null;
  tip: (i: number) => Tip;
}

/** A row's name, short enough to stand in front of it, and one for a narrow picture. */
const SHORT: Record<string, [string, string]> = {
  retransmission: ["retransmitted", "retransm."],
  "spurious-retransmission": ["spurious", "spurious"],
  "out-of-order": ["out of order", "reordered"],
  "duplicate-frame": ["duplicate", "duplicate"],
  "keep-alive": ["keep-alive", "keep-alive"],
  "window-probe": ["probe", "probe"],
};

export function eventsPlot(page: Page, flow: Flow, picture: Picture, queueing: Queueing | null, view: View, file: string): HTMLElement | null {
  const rows = [...labelled(page, picture, view), ...zeroWindows(picture), ...lost(queueing), ...pauses(flow)];
  if (rows.length === 0) return null;
  return figure({
    title: "Events", file: `${file}-events`, height: rows.length * ROW + 26, view, text: null, keys: [], top: 4,
    range: () => ({ low: 0, high: 1 }),
    draw: (frame) => rows.forEach((row, place) => bars(frame, row, place)),
    over: (frame) => {
      const { context, left, right, top } = frame;
      context.font = FONT;
      context.textAlign = "right";
      context.textBaseline = "middle";
      rows.forEach((row, place) => {
        context.fillStyle = colour("faint");
        context.fillText(row.name[left < WIDE ? 1 : 0], left - 8, top + (place + 0.5) * ROW);
        context.fillStyle = colour("grid");
        context.fillRect(left, top + (place + 1) * ROW - 1, right - left, 1);
      });
    },
    near: (frame, x, y) => near(frame, rows, x, y),
  });
}

/** Retransmitted, reordered and duplicated data, a row for each label. */
function labelled(page: Page, picture: Picture, view: View): Row[] {
  const { again } = picture;
  const labels = [...new Set(again.label)].sort((a, b) => a - b);
  return labels.map((label) => {
    const places = [...again.label.keys()].filter((i) => again.label[i] === label);
    const slug = page.labels[label] ?? "new";
    return {
      name: SHORT[slug] ?? [slug, slug],
      colour: `label-${slug}`,
      from: places.map((i) => again.from[i] as number),
      to: places.map((i) => again.to[i] as number),
      count: places.map((i) => again.count[i] as number),
      tip: (i) => strokeTip(page, again, places[i] as number, view.span),
    };
  });
}

/** From an ACK that closed the window to the next that opened it. */
function zeroWindows(picture: Picture): Row[] {
  const { answers } = picture;
  const [from, to]: [number[], number[]] = [[], []];
  let since: number | null = null;
  answers.from.forEach((at, i) => {
    if (answers.windowMin[i] === 0) since ??= at;
    if (since !== null && (answers.window[i] as number) > 0) {
      from.push(since);
      to.push(at);
      since = null;
    }
  });
  const last = answers.to.at(-1);
  if (since !== null && last !== undefined) {
    from.push(since);
    to.push(last);
  }
  if (from.length === 0) return [];
  const tip = (i: number): Tip => ({
    title: "zero window",
    rows: [["from", instant(from[i] as number, 1e8)], ["for", duration((to[i] as number) - (from[i] as number))]],
  });
  return [{ name: ["zero window", "zero win."], colour: "zero-window", from, to, count: null, tip }];
}

function lost(queueing: Queueing | null): Row[] {
  if (!queueing || queueing.lostAt.length === 0) return [];
  const { lostAt } = queueing;
  const tip = (i: number): Tip => ({ title: "lost on the way", rows: [["time", instant(lostAt[i] as number, 1e7)]] });
  return [{ name: ["lost on path", "lost"], colour: "lost", from: lostAt, to: lostAt, count: null, tip }];
}

function pauses(flow: Flow): Row[] {
  const { stalls } = flow;
  if (stalls.length === 0) return [];
  const tip = (i: number): Tip => {
    const stall = stalls[i];
    if (!stall) return { title: "", rows: [] };
    return {
      title: `pause: ${stall.cause.replaceAll("-", " ")}`,
      rows: [
        ["from", instant(stall.from_ns, 1e8)], ["for", duration(stall.lasted_ns)], ["ended by frame", number(stall.frame)],
      ],
    };
  };
  return [{
    name: ["pauses", "pauses"], colour: "pause", tip, count: null,
    from: stalls.map((stall) => stall.from_ns),
    to: stalls.map((stall) => stall.from_ns + stall.lasted_ns),
  }];
}

/** Bars; those that share a pixel are one, the higher the more events it has. */
function bars(frame: Frame, row: Row, place: number): void {
  const { context, view, top } = frame;
  const bottom = top + (place + 1) * ROW - 4;
  const most = ROW - 8;
  context.fillStyle = colour(row.colour);
  const columns = new Map<number, number>();
  for (let i = 0; i < row.from.length; i++) {
    const [from, to] = [row.from[i] as number, row.to[i] as number];
    if (to < view.from || from > view.to) continue;
    const [x0, x1] = [xOf(frame, from), xOf(frame, to)];
    if (x1 - x0 > 2) {
      const high = row.count ? most * 0.6 : most * 0.8;
      context.fillRect(Math.max(x0, frame.left), bottom - high, Math.min(x1, frame.right) - Math.max(x0, frame.left), high);
    } else {
      const column = Math.round(x0);
      columns.set(column, (columns.get(column) ?? 0) + (row.count?.[i] ?? 1));
    }
  }
  let highest = 4;
  for (const count of columns.values()) highest = Math.max(highest, count);
  for (const [x, count] of columns) {
    const high = Math.max(0.45, count / highest) * most;
    context.fillRect(x - 1, bottom - high, 2, high);
  }
}

function near(frame: Frame, rows: Row[], x: number, y: number): Hit | null {
  const row = rows[Math.floor((y - frame.top) / ROW)];
  if (!row) return null;
  const time = timeOf(frame, x);
  const reach = (NEAR / (frame.right - frame.left)) * frame.view.span;
  let best: Hit | null = null;
  for (let i = 0; i < row.from.length; i++) {
    const [from, to] = [row.from[i] as number, row.to[i] as number];
    const far = time < from ? from - time : time > to ? time - to : 0;
    if (far <= reach && far < (best?.far ?? Infinity)) best = { far, tip: () => row.tip(i) };
  }
  return best;
}

/** The shortest stretch of time around an instant that has a few packets. */
export function finest(picture: Picture): (at: number) => number {
  let times: Float64Array | null = null;
  return (at) => {
    if (!times) {
      const all = [picture.fresh.from, picture.again.from, picture.answers.from];
      times = new Float64Array(all.reduce((sum, one) => sum + one.length, 0));
      let end = 0;
      for (const one of all) {
        times.set(one, end);
        end += one.length;
      }
      times.sort();
    }
    // Of the stretches of so many packets around it, the shortest.
    const place = firstFrom(times, at);
    const last = Math.max(0, times.length - PACKETS);
    let least = Infinity;
    for (let first = Math.max(0, Math.min(place - PACKETS, last)); first <= Math.min(place, last); first++) {
      const [from, to] = [times[first], times[Math.min(first + PACKETS, times.length) - 1]];
      if (from === undefined || to === undefined) continue;
      least = Math.min(least, Math.max(to, at) - Math.min(from, at));
    }
    return Number.isFinite(least) ? least * 1.1 : 0;
  };
}
