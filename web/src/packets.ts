// What is shown of packets: frames, flags, bytes and windows.

import type { Answers, Page, Strokes } from "./data.ts";
import type { Tip } from "./frame.ts";
import { bytes, instant, number } from "./quantity.ts";

/** The control bits of a TCP header, the lowest first (RFC 9293, section 3.1; AE: RFC 9768). */
const FLAGS = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR", "AE"];
const ACK = 0x10;

export function flagNames(bits: number): string {
  const names = FLAGS.filter((_, place) => bits & (1 << place));
  return names.length > 0 ? names.join(", ") : "none";
}

export function labelOf(page: Page, label: number): string {
  const slug = page.labels[label] ?? "new";
  return slug === "new" ? "new data" : slug.replaceAll("-", " ");
}

export function strokeTip(page: Page, strokes: Strokes, i: number, span: number): Tip {
  const count = strokes.count[i] as number;
  const [low, high] = [strokes.low[i] as number, strokes.high[i] as number];
  const rows: Tip["rows"] = [["time", instant(strokes.from[i] as number, span / 100)]];
  const { packets } = strokes;
  const frame = packets?.frame[i] ?? 0;
  if (frame > 0) rows.push([count > 1 ? "first frame" : "frame", number(frame)]);
  rows.push(["bytes", `${number(low)} to ${number(high - 1)}`], ["length", bytes(high - low)]);
  if (packets && frame > 0 && count === 1) {
    const flags = packets.flags[i] as number;
    rows.push(["flags", flagNames(flags)]);
    if (flags & ACK) rows.push(["ack", number(packets.ack[i] as number)]);
    rows.push(["window", bytes(packets.window[i] as number)]);
  }
  const title = labelOf(page, strokes.label[i] as number);
  return { title: count > 1 ? `${number(count)} segments: ${title}` : title, rows };
}

export function answerTip(answers: Answers, i: number, span: number, windowKnown: boolean): Tip {
  const count = answers.count[i] as number;
  const rows: Tip["rows"] = [["time", instant(answers.from[i] as number, span / 100)]];
  if (answers.frame) rows.push([count > 1 ? "first frame" : "frame", number(answers.frame[i] as number)]);
  rows.push(["ack", number(answers.ack[i] as number)]);
  if (count === 1) rows.push(["flags", flagNames(answers.flags[i] as number)]);
  const window = answers.window[i] as number;
  rows.push(["window", `${bytes(window)}${windowKnown ? "" : " or more"}`]);
  const closed = (answers.windowMin[i] as number) === 0;
  const title = closed ? "zero window" : "ACK";
  return { title: count > 1 ? `${number(count)} ACKs${closed ? ", one with a zero window" : ""}` : title, rows };
}
