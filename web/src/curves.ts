// Pictures of one value over time: throughput, data in flight with the window above it, RTTs.

import type { Comparison, Other } from "./compare.ts";
import { firstFrom, type Picture, type RoundTrips } from "./data.ts";
import { colour, type Key } from "./dom.ts";
import { answerTip } from "./packets.ts";
import { FONT, type Frame, type Hit, timeOf, xOf, yOf } from "./frame.ts";
import { figure } from "./plot.ts";
import { bytes, bytesOnAxis, duration, durationOnAxis, instant, rate, rateOnAxis, roundUp } from "./quantity.ts";
import { type Delivered, deliveredOf, sentOf } from "./throughput.ts";
import type { View } from "./view.ts";

const HEIGHT = 150;
/** Fewer RTTs than this in sight are drawn as larger dots. */
const FEW = 300;
/** The greatest value lies this far below the upper edge. */
const ROOM = 1.08;

/** What was sent and what was delivered per second, each averaged over at least an RTT. */
export function throughputPlot(picture: Picture, view: View, file: string, comparison: Comparison): HTMLElement | null {
  const { answers, fresh, roundTrips } = picture;
  if (fresh.from.length + answers.from.length < 3) return null;
  const [sent, delivered] = [sentOf(picture), deliveredOf(picture)];
  let shortest = Infinity;
  for (const value of roundTrips.min) shortest = Math.min(shortest, value);
  // Within an RTT data goes in bursts, which say nothing of the rate.
  const least = Number.isFinite(shortest) ? shortest : 0;
  const step = (): number => roundUp(Math.max(least, view.span / 160, 1e3));
  const bins = (): [number, number] => {
    const wide = step();
    return [Math.floor((view.from - view.first) / wide), Math.ceil((view.to - view.first) / wide)];
  };
  const rateIn = (data: Delivered, bin: number, wide: number, shift = 0): number => {
    const from = view.first + bin * wide;
    // With the last packet, which comes at the very end.
    const to = Math.min(from + wide, view.last + 1);
    return to > from ? (data.between(from - shift, to - shift) * 8e9) / (to - from) : 0;
  };
  let known: { of: Other; delivered: Delivered } | null = null;
  const compared = (): { of: Other; delivered: Delivered } | null => {
    const { other } = comparison;
    if (other !== known?.of) known = other && { of: other, delivered: deliveredOf(other.picture) };
    return known;
  };
  const range = (): { low: number; high: number } => {
    const wide = step();
    const [first, last] = bins();
    let most = 1;
    for (let bin = first; bin < last; bin++) {
      most = Math.max(most, rateIn(delivered, bin, wide), rateIn(sent, bin, wide));
      const other = compared();
      if (other) most = Math.max(most, rateIn(other.delivered, bin, wide, other.of.shift));
    }
    return { low: 0, high: most * ROOM };
  };
  const keys: Key[] = [
    { colour: "throughput", text: "delivered: acknowledged or SACKed" },
    { colour: "label-new", text: "sent, without retransmissions", shape: "line" },
  ];
  return figure({
    title: "Throughput", file: `${file}-throughput`, height: HEIGHT, view, range, text: rateOnAxis, keys,
    note: () => {
      const mean = (delivered.between(view.from, view.to + 1) * 8e9) / view.span;
      return `${rate(mean)} delivered on average, drawn over ${duration(step())}`;
    },
    draw: (frame) => {
      const wide = step();
      const [first, last] = bins();
      const { context } = frame;
      context.fillStyle = colour("throughput");
      for (let bin = first; bin < last; bin++) {
        const [x0, x1] = [bin, bin + 1].map((one) => Math.round(xOf(frame, view.first + one * wide)));
        const y = yOf(frame, rateIn(delivered, bin, wide));
        context.fillRect(x0 as number, y, (x1 as number) - (x0 as number), yOf(frame, 0) - y);
      }
      const line = (data: Delivered, shift: number): void => {
        context.beginPath();
        for (let bin = first; bin < last; bin++) {
          const y = yOf(frame, rateIn(data, bin, wide, shift));
          if (bin === first) context.moveTo(xOf(frame, view.first + bin * wide), y);
          else context.lineTo(xOf(frame, view.first + bin * wide), y);
          context.lineTo(xOf(frame, view.first + (bin + 1) * wide), y);
        }
        context.stroke();
      };
      context.strokeStyle = colour("label-new");
      context.lineWidth = 1.5;
      line(sent, 0);
      const other = compared();
      if (!other) return;
      context.strokeStyle = colour("other");
      context.lineWidth = 2;
      line(other.delivered, other.of.shift);
    },
    moreKeys: () => otherKey(comparison, "delivered"),
    near: (frame, x) => {
      const wide = step();
      const bin = Math.floor((timeOf(frame, x) - view.first) / wide);
      return {
        far: 0,
        tip: () => ({
          title: `${instant(view.first + bin * wide, view.span)}, for ${duration(wide)}`,
          rows: [
            ["delivered", rate(rateIn(delivered, bin, wide))],
            ["sent", rate(rateIn(sent, bin, wide))],
            ...otherRow(compared(), (data, shift) => rate(rateIn(data, bin, wide, shift))),
          ],
        }),
      };
    },
  });
}

function otherKey({ other }: Comparison, what: string): Key[] {
  return other ? [{ colour: "other", text: `${what}, ${other.name}`, shape: "line" }] : [];
}

function otherRow(
  compared: { of: Other; delivered: Delivered } | null,
  text: (data: Delivered, shift: number) => string,
): [string, string][] {
  return compared ? [[compared.of.name.slice(0, 40), text(compared.delivered, compared.of.shift)]] : [];
}

/** RTTs: a dot each, or a line from the shortest to the longest of those merged. */
export function roundTripPlot(picture: Picture, view: View, file: string, comparison: Comparison): HTMLElement | null {
  const { at, min, max } = picture.roundTrips;
  if (at.length === 0) return null;
  const visible = (): [number, number] => [firstFrom(at, view.from), firstFrom(at, view.to + 1)];
  const range = (): { low: number; high: number } => {
    const [start, end] = visible();
    let most = 1e3;
    for (let i = start; i < end; i++) most = Math.max(most, max[i] as number);
    const { other } = comparison;
    if (other) {
      const { at: when, max: theirs } = other.picture.roundTrips;
      const last = firstFrom(when, view.to + 1 - other.shift);
      for (let i = firstFrom(when, view.from - other.shift); i < last; i++) most = Math.max(most, theirs[i] as number);
    }
    return { low: 0, high: most * ROOM };
  };
  return figure({
    title: "RTT, from the place of recording to the receiver and back", file: `${file}-rtt`, height: HEIGHT, view,
    range, text: durationOnAxis, keys: [{ colour: "rtt", text: "RTT" }],
    draw: (frame) => {
      const { other } = comparison;
      if (other) dots(frame, other.picture.roundTrips, other.shift, "other");
      dots(frame, picture.roundTrips, 0, "rtt");
    },
    moreKeys: () => otherKey(comparison, "RTT"),
    near: (frame, x) => {
      const i = nearestIn(at, timeOf(frame, x));
      if (i === null) return null;
      const [shortest, longest] = [min[i] as number, max[i] as number];
      const rows: [string, string][] = [["RTT", duration(shortest)]];
      if (longest > shortest) rows.push(["to", duration(longest)]);
      return {
        far: Math.abs(xOf(frame, at[i] as number) - x),
        tip: () => ({ title: instant(at[i] as number, view.span / 100), rows }),
      };
    },
  });
}

function dots(frame: Frame, { at, min, max }: RoundTrips, shift: number, name: string): void {
  const { view, context } = frame;
  const [start, end] = [firstFrom(at, view.from - shift), firstFrom(at, view.to + 1 - shift)];
  context.fillStyle = colour(name);
  // Few are drawn larger, so that each is seen.
  const size = end - start < FEW ? 4 : 2;
  for (let i = start; i < end; i++) {
    const x = xOf(frame, (at[i] as number) + shift);
    const y = yOf(frame, max[i] as number);
    const tall = Math.max(size, yOf(frame, min[i] as number) - y);
    context.fillRect(x - size / 2, y - size / 2, size, tall);
  }
}

/** The place of the value nearest to `time`; `null` if there is none. */
export function nearestIn(at: Float64Array, time: number): number | null {
  if (at.length === 0) return null;
  const after = Math.min(firstFrom(at, time), at.length - 1);
  const before = Math.max(0, after - 1);
  return Math.abs((at[before] as number) - time) < Math.abs((at[after] as number) - time) ? before : after;
}

/** What was sent and not acknowledged before each ACK, and the window that allowed it. */
export function flightPlot(picture: Picture, view: View, file: string): HTMLElement | null {
  const { answers, flights } = picture;
  if (flights.at.length === 0) return null;
  // The flight before an ACK is that since the ACK before it: the one after the view reaches into it.
  const visible = (): [number, number] => [
    firstFrom(flights.at, view.from),
    Math.min(flights.at.length, firstFrom(flights.at, view.to) + 1),
  ];
  const windows = (): { first: number; last: number; most: number } => {
    const first = Math.max(0, firstFrom(answers.from, view.from) - 1);
    const last = firstFrom(answers.from, view.to + 1);
    let most = 0;
    for (let i = first; i < last; i++) most = Math.max(most, answers.window[i] as number);
    return { first, last, most };
  };
  const range = (): { low: number; high: number } => {
    const [start, end] = visible();
    let most = 1;
    for (let i = start; i < end; i++) most = Math.max(most, flights.most[i] as number);
    return { low: 0, high: Math.max(most, Math.min(windows().most, most * 1.6)) * ROOM };
  };
  const keys: Key[] = [
    { colour: "flight", text: "sent and not acknowledged" },
    { colour: "window", text: picture.windowKnown ? "receive window" : "receive window, at least", shape: "line" },
  ];
  if (answers.windowMin.some((value) => value === 0)) {
    keys.push({ colour: "zero-window", text: "zero window", shape: "diamond" });
  }
  return figure({
    title: "Data not acknowledged yet, and the receive window", file: `${file}-in-flight`, height: HEIGHT, view, range,
    text: bytesOnAxis, binary: true, keys, top: 12,
    note: () => {
      const [start, end] = visible();
      let most = 0;
      for (let i = start; i < end; i++) most = Math.max(most, flights.most[i] as number);
      return `at most ${bytes(most)}, with what is SACKed or lost`;
    },
    draw: (frame) => {
      const { context } = frame;
      context.fillStyle = colour("flight");
      const [start, end] = visible();
      let x0 = start > 0 ? xOf(frame, flights.at[start - 1] as number) : xOf(frame, flights.at[start] ?? 0) - 1;
      for (let i = start; i < end; i++) {
        const x1 = xOf(frame, flights.at[i] as number);
        const y = yOf(frame, flights.most[i] as number);
        // Whole pixels, and at least one, so that no seams show.
        const left = Math.floor(x0);
        context.fillRect(left, y, Math.max(1, Math.ceil(x1) - left), yOf(frame, 0) - y);
        x0 = x1;
      }
      windowLine(frame, picture);
    },
    over: (frame) => beyond(frame, windows().most),
    near: (frame, x) => {
      const time = timeOf(frame, x);
      const i = Math.min(firstFrom(flights.at, time), flights.at.length - 1);
      const answer = firstFrom(answers.from, time + 1) - 1;
      const rows: [string, string][] = [["not acknowledged", bytes(flights.most[i] as number)]];
      if (answer >= 0) {
        const known = answerTip(answers, answer, view.span, picture.windowKnown).rows;
        rows.push(...known.filter(([name]) => ["window", "frame", "first frame"].includes(name)));
      }
      const hit: Hit = { far: 0, tip: () => ({ title: instant(time, view.span), rows }) };
      return hit;
    },
  });
}

/** The window of each answer, as steps; a zero window as a diamond. */
function windowLine(frame: Frame, picture: Picture): void {
  const { context, view } = frame;
  const { answers } = picture;
  context.strokeStyle = colour("window");
  context.lineWidth = 1.5;
  if (!picture.windowKnown) context.setLineDash([5, 4]);
  context.beginPath();
  const first = Math.max(0, firstFrom(answers.from, view.from) - 1);
  const last = Math.min(answers.from.length, firstFrom(answers.from, view.to + 1) + 1);
  let before: number | null = null;
  for (let i = first; i < last; i++) {
    const x = xOf(frame, answers.from[i] as number);
    // Where it is out of sight it runs along the upper edge.
    const y = Math.max(frame.top + 1, yOf(frame, answers.window[i] as number));
    if (before === null) context.moveTo(x, y);
    else context.lineTo(x, before);
    context.lineTo(x, y);
    before = y;
  }
  if (before !== null && last === answers.from.length) context.lineTo(frame.right, before);
  context.stroke();
  context.setLineDash([]);
  zeroWindows(frame, picture, () => 0);
}

/** A closed window, as a diamond at the value that `at` gives. */
export function zeroWindows(frame: Frame, picture: Picture, at: (i: number) => number): void {
  const { context, view } = frame;
  const { answers } = picture;
  context.fillStyle = colour("zero-window");
  const end = firstFrom(answers.from, view.to + 1);
  for (let i = firstFrom(answers.from, view.from); i < end; i++) {
    if ((answers.windowMin[i] as number) > 0) continue;
    const [x, y] = [xOf(frame, answers.from[i] as number), Math.min(yOf(frame, at(i)), frame.bottom - 5)];
    context.beginPath();
    context.moveTo(x, y - 5);
    context.lineTo(x + 5, y);
    context.lineTo(x, y + 5);
    context.lineTo(x - 5, y);
    context.fill();
  }
}

/** Says how far the window reaches that is out of sight. */
function beyond(frame: Frame, most: number): void {
  if (most > frame.high) windowLabel(frame, `receive window: up to ${bytes(most)} ↑`);
}

/** A label below the upper edge at the right, on a ground of its own. */
export function windowLabel(frame: Frame, text: string): void {
  const { context, right, top } = frame;
  context.font = FONT;
  context.globalAlpha = 0.85;
  context.fillStyle = colour("ground");
  context.fillRect(right - 8 - text.length * 5.9, top + 5, text.length * 5.9 + 6, 15);
  context.globalAlpha = 1;
  context.fillStyle = colour("window-text");
  context.textAlign = "right";
  context.textBaseline = "top";
  context.fillText(text, right - 6, top + 7);
}
