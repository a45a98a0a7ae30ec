// Two small pictures on the same time: round trips, and data in flight with the window above it.

import { firstFrom, type Picture } from "./data.ts";
import { canvas, colour, el } from "./dom.ts";
import { axes, clip, type Frame, LEFT, RIGHT, xOf, yOf } from "./plot.ts";
import { bytes, duration } from "./quantity.ts";
import { steer, type View } from "./view.ts";

const HEIGHT = 120;

function small(
  title: string,
  view: View,
  most: () => number,
  text: (value: number) => string,
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

/** Round trips: a dot each, or a line from the shortest to the longest of those merged. */
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
  return small("Round trip from the place of recording to the receiver", view, most, duration, false, (frame) => {
    const [start, end] = visible();
    frame.context.fillStyle = colour("rtt");
    for (let i = start; i < end; i++) {
      const x = xOf(frame, at[i] as number);
      const y = yOf(frame, max[i] as number);
      frame.context.fillRect(x - 1, y - 1, 2, Math.max(2, yOf(frame, min[i] as number) - y));
    }
  });
}

/** What was sent and not acknowledged, at each ACK and each segment, and the window that allowed it. */
export function flightPlot(picture: Picture, view: View): HTMLElement | null {
  const flight = inFlight(picture);
  if (flight.at.length === 0) return null;
  const { answers } = picture;
  const most = (): number => {
    let value = 0;
    const end = firstFrom(flight.at, view.to);
    for (let i = firstFrom(flight.at, view.from); i < end; i++) value = Math.max(value, flight.amount[i] as number);
    let window = 0;
    const last = firstFrom(answers.from, view.to);
    for (let i = Math.max(0, firstFrom(answers.from, view.from) - 1); i < last; i++) {
      window = Math.max(window, answers.window[i] as number);
    }
    return Math.max(value, Math.min(window, value * 1.6));
  };
  const title = "Sent and not acknowledged, as recorded, and the receive window";
  return small(title, view, most, bytes, true, (frame) => {
    const { context } = frame;
    context.fillStyle = colour("flight");
    const end = Math.min(flight.at.length, firstFrom(flight.at, view.to) + 1);
    const start = Math.max(0, firstFrom(flight.at, view.from) - 1);
    let column = NaN;
    let highest = 0;
    const flush = (): void => {
      if (!Number.isNaN(column)) {
        const y = yOf(frame, highest);
        context.fillRect(column, y, 1, frame.bottom - y);
      }
    };
    for (let i = start; i < end; i++) {
      const x0 = Math.round(xOf(frame, flight.at[i] as number));
      const x1 = i + 1 < flight.at.length ? Math.round(xOf(frame, flight.at[i + 1] as number)) : x0 + 1;
      if (x0 !== column) {
        flush();
        column = x0;
        highest = 0;
      }
      highest = Math.max(highest, flight.amount[i] as number);
      if (x1 > x0 + 1) {
        const y = yOf(frame, flight.amount[i] as number);
        context.fillRect(x0 + 1, y, x1 - x0 - 1, frame.bottom - y);
      }
    }
    flush();
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

function inFlight(picture: Picture): { at: Float64Array; amount: Float64Array } {
  const { fresh, answers } = picture;
  const total = fresh.from.length + answers.from.length;
  const at = new Float64Array(total);
  const amount = new Float64Array(total);
  // What was acknowledged before the first data is not known to be in flight.
  let highest = -Infinity;
  let acknowledged = fresh.low.length > 0 ? (fresh.low[0] as number) : 0;
  let [i, j] = [0, 0];
  for (let place = 0; place < total; place++) {
    const sent = i < fresh.from.length ? (fresh.from[i] as number) : Infinity;
    const answered = j < answers.from.length ? (answers.from[j] as number) : Infinity;
    if (sent <= answered) highest = Math.max(highest, fresh.high[i++] as number);
    else acknowledged = Math.max(acknowledged, answers.ack[j++] as number);
    at[place] = Math.min(sent, answered);
    amount[place] = Math.max(0, highest - acknowledged);
  }
  return { at, amount };
}
