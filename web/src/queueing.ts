// What queues on the way added to the least delay, over time, with the places of the losses.

import { smallPlot } from "./curves.ts";
import { firstFrom, type Queueing } from "./data.ts";
import { colour, legendOf } from "./dom.ts";
import { type Frame, xOf, yOf } from "./plot.ts";
import { duration } from "./quantity.ts";
import type { View } from "./view.ts";

/** The scale reaches at least this far, in nanoseconds: less says more of the clocks than of queues. */
const LEAST_SCALE = 1e5;
/** Over more stretches than this without a packet the line of the means is broken. */
const LONGEST_GAP = 8;
/** Half the width and the height of the mark of a loss. */
const MARK = 4;

export function queueingPlot(queueing: Queueing, view: View): HTMLElement {
  const { from, step, max, lost, lostAt } = queueing;
  // The stretch of time before the first whole one reaches into the view.
  const visible = (): [number, number] => [firstFrom(from, view.from - step), firstFrom(from, view.to)];
  const most = (): number => {
    const [start, end] = visible();
    let value = LEAST_SCALE;
    for (let i = start; i < end; i++) value = Math.max(value, max[i] as number);
    return value;
  };
  const title =
    "Queueing on the way to the receiver: one-way delay above its least, " + duration(queueing.leastDelay);
  const figure = smallPlot(title, view, most, duration, false, (frame) => {
    const [start, end] = visible();
    delays(frame, queueing, start, end);
    losses(frame, lostAt);
  });
  const keys: [string, string][] = [["delay-mean", "mean"], ["delay", "least to most"]];
  if (lost > 0) {
    const known = lost > lostAt.length ? `, the first ${lostAt.length.toLocaleString("en")} marked` : "";
    keys.push(["label-retransmission", `lost on the way: ${lost.toLocaleString("en")}${known}`]);
  }
  figure.append(legendOf(keys));
  return figure;
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
