// What queues on the way added to the least delay, over time, with the places of the losses.

import { nearestIn } from "./curves.ts";
import { firstFrom, type Queueing } from "./data.ts";
import { colour, type Key } from "./dom.ts";
import { type Frame, timeOf, xOf, yOf } from "./frame.ts";
import { figure } from "./plot.ts";
import { duration, durationOnAxis, instant, number } from "./quantity.ts";
import type { View } from "./view.ts";

const HEIGHT = 150;
/** The scale reaches at least this far, in nanoseconds: less says more of the clocks than of queues. */
const LEAST_SCALE = 1e5;
/** Over more stretches than this without a packet the line of the means is broken. */
const LONGEST_GAP = 8;
/** Half the width and the height of the mark of a loss. */
const MARK = 4;

export function queueingPlot(queueing: Queueing, view: View, file: string): HTMLElement {
  const { from, step, min, mean, max, lost, lostAt } = queueing;
  // The stretch of time before the first whole one reaches into the view.
  const visible = (): [number, number] => [firstFrom(from, view.from - step), firstFrom(from, view.to)];
  const keys: Key[] = [
    { colour: "delay-mean", text: "mean", shape: "line" },
    { colour: "delay", text: "least to most" },
  ];
  if (lost > 0) {
    const known = lost > lostAt.length ? `, the first ${number(lostAt.length)} marked` : "";
    keys.push({ colour: "label-retransmission", text: `lost on the way: ${number(lost)}${known}` });
  }
  return figure({
    title: "Queueing on the way to the receiver", file: `${file}-queueing`, height: HEIGHT, view,
    text: durationOnAxis, keys,
    note: () => `one-way delay above its least, ${duration(queueing.leastDelay)}`,
    range: () => {
      const [start, end] = visible();
      let most = LEAST_SCALE;
      for (let i = start; i < end; i++) most = Math.max(most, max[i] as number);
      return { low: 0, high: most * 1.08 };
    },
    draw: (frame) => {
      const [start, end] = visible();
      delays(frame, queueing, start, end);
      losses(frame, lostAt);
    },
    near: (frame, x) => {
      const time = timeOf(frame, x);
      const i = firstFrom(from, time + 1) - 1;
      const near = nearestIn(lostAt, time);
      if (near !== null && Math.abs(xOf(frame, lostAt[near] as number) - x) < 4) {
        return { far: 0, tip: () => ({ title: "lost on the way", rows: [["time", instant(lostAt[near] as number, view.span / 100)]] }) };
      }
      if (i < 0 || time > (from[i] as number) + step) return null;
      const rows: [string, string][] = [
        ["mean", duration(mean[i] as number)], ["least", duration(min[i] as number)], ["most", duration(max[i] as number)],
      ];
      return { far: 0, tip: () => ({ title: `${instant(from[i] as number, view.span)}, for ${duration(step)}`, rows }) };
    },
  });
}

/** A box from the least to the most of each stretch, and a line through the means, broken where nothing passed for long. */
function delays(frame: Frame, queueing: Queueing, start: number, end: number): void {
  const { context } = frame;
  const { from, step, min, mean, max } = queueing;
  context.fillStyle = colour("delay");
  for (let i = start; i < end; i++) {
    const left = Math.floor(xOf(frame, from[i] as number));
    const right = Math.ceil(xOf(frame, (from[i] as number) + step));
    const top = yOf(frame, max[i] as number);
    context.fillRect(left, top, Math.max(1, right - left), Math.max(1, yOf(frame, min[i] as number) - top));
  }
  context.strokeStyle = colour("delay-mean");
  context.lineWidth = 1.5;
  context.beginPath();
  let before = -Infinity;
  for (let i = start; i < end; i++) {
    const time = from[i] as number;
    const y = yOf(frame, mean[i] as number);
    const connected = time - before <= LONGEST_GAP * step;
    if (connected) context.lineTo(xOf(frame, time), y);
    else context.moveTo(xOf(frame, time), y);
    context.lineTo(xOf(frame, time + step), y);
    before = time;
  }
  context.stroke();
}

/** Where packets were lost: a triangle at the upper edge and a line down, one for each pixel. */
function losses(frame: Frame, lostAt: Float64Array): void {
  const { context, view, top, bottom } = frame;
  context.fillStyle = colour("label-retransmission");
  let last = NaN;
  const end = firstFrom(lostAt, view.to);
  for (let i = firstFrom(lostAt, view.from); i < end; i++) {
    const x = Math.round(xOf(frame, lostAt[i] as number));
    if (x === last) continue;
    last = x;
    context.globalAlpha = 0.25;
    context.fillRect(x, top, 1, bottom - top);
    context.globalAlpha = 1;
    context.beginPath();
    context.moveTo(x - MARK, top);
    context.lineTo(x + MARK, top);
    context.lineTo(x, top + 2 * MARK);
    context.fill();
  }
}
