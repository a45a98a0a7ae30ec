// Two small pictures on the same time: RTTs, and data in flight with the window above it.

import { firstFrom, type Picture } from "./data.ts";
import { canvas, colour, el } from "./dom.ts";
import { axes, clip, type Frame, LEFT, RIGHT, xOf, yOf } from "./plot.ts";
import { bytesOnAxis, duration } from "./quantity.ts";
import { steer, type View } from "./view.ts";

const HEIGHT = 120;
/** Fewer RTTs than this in sight are drawn as larger dots. */
const FEW = 300;

/** A small picture whose scale follows what is in sight. */
export function smallPlot(
  title: string,
  view: View,
  most: () => number,
  text: (value: number, step: number) => string,
  binary: boolean,
  draw: (frame: Frame) => void,
): HTMLElement {
  const plot = canvas(title, HEIGHT, (context, width) => {
    const high = Math.max(most(), 1) * 1.08;
    const frame: Frame = { context, view, width, top: 6, bottom: HEIGHT - 8, low: 0, high };
    axes(frame, text, binary, false);
    clip(frame);
    draw(frame);
    context.restore();
  });
  view.onChange(plot.redraw);
  steer(plot.element, view, LEFT, RIGHT);
  return el("figure", {}, el("figcaption", {}, title), plot.element);
}

/** RTTs: a dot each, or a line from the shortest to the longest of those merged. */
export function roundTripPlot(picture: Picture, view: View): HTMLElement | null {
  const { at, min, max } = picture.roundTrips;
  if (at.length === 0) return null;
  const visible = (): [number, number] => [firstFrom(at, view.from), firstFrom(at, view.to)];
  const most = (): number => {
    const [start, end] = visible();
    let value = 0;
    for (let i = start; i < end; i++) value = Math.max(value, max[i] as number);
    return value;
  };
  return smallPlot("RTT from the place of recording to the receiver", view, most, duration, false, (frame) => {
    const [start, end] = visible();
    frame.context.fillStyle = colour("rtt");
    // Few are drawn larger, so that each is seen.
    const size = end - start < FEW ? 4 : 2;
    for (let i = start; i < end; i++) {
      const x = xOf(frame, at[i] as number);
      const y = yOf(frame, max[i] as number);
      const tall = Math.max(size, yOf(frame, min[i] as number) - y);
      frame.context.fillRect(x - size / 2, y - size / 2, size, tall);
    }
  });
}

/** What was sent and not acknowledged before each ACK, and the window that allowed it. */
export function flightPlot(picture: Picture, view: View): HTMLElement | null {
  const { answers, flights } = picture;
  if (flights.at.length === 0) return null;
  // The flight before an ACK is that since the ACK before it: the one after the view reaches into it.
  const visible = (): [number, number] => [
    firstFrom(flights.at, view.from),
    Math.min(flights.at.length, firstFrom(flights.at, view.to) + 1),
  ];
  const most = (): number => {
    const [start, end] = visible();
    let value = 0;
    for (let i = start; i < end; i++) value = Math.max(value, flights.most[i] as number);
    let window = 0;
    const last = firstFrom(answers.from, view.to);
    for (let i = Math.max(0, firstFrom(answers.from, view.from) - 1); i < last; i++) {
      window = Math.max(window, answers.window[i] as number);
    }
    return Math.max(value, Math.min(window, value * 1.6));
  };
  const title = "Sent and not acknowledged, as recorded, and the receive window";
  return smallPlot(title, view, most, bytesOnAxis, true, (frame) => {
    const { context } = frame;
    context.fillStyle = colour("flight");
    const [start, end] = visible();
    let x0 = start > 0 ? xOf(frame, flights.at[start - 1] as number) : xOf(frame, flights.at[start] ?? 0) - 1;
    for (let i = start; i < end; i++) {
      const x1 = xOf(frame, flights.at[i] as number);
      const y = yOf(frame, flights.most[i] as number);
      // Whole pixels, and at least one, so that no seams show.
      const left = Math.floor(x0);
      context.fillRect(left, y, Math.max(1, Math.ceil(x1) - left), frame.bottom - y);
      x0 = x1;
    }
    context.strokeStyle = colour("window");
    context.lineWidth = 1.5;
    context.beginPath();
    const last = Math.min(answers.from.length, firstFrom(answers.from, view.to) + 1);
    let before: number | null = null;
    for (let i = Math.max(0, firstFrom(answers.from, view.from) - 1); i < last; i++) {
      const x = xOf(frame, answers.from[i] as number);
      const y = yOf(frame, answers.window[i] as number);
      if (before === null) context.moveTo(x, y);
      else context.lineTo(x, before);
      context.lineTo(x, y);
      before = y;
    }
    context.stroke();
  });
}
