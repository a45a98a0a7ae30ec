// Where things lie in a picture, and what a picture consists of.

import type { Key, Pen } from "./dom.ts";
import type { Area } from "./steer.ts";
import type { View } from "./view.ts";

export const RIGHT = 14;
export const FONT = '11px system-ui, -apple-system, "Segoe UI", sans-serif';

/** The width of the labels of the value axis. */
export function leftOf(width: number): number {
  return width < 500 ? 64 : 84;
}

/** Where things lie in a picture. */
export interface Frame extends Area {
  context: Pen;
  view: View;
}

/** What is shown of the mark under the pointer. */
export interface Tip {
  title: string;
  rows: [string, string][];
}

/** A mark's tip, and how far from the pointer it is, in pixels. */
export interface Hit {
  far: number;
  tip: () => Tip;
}

/** Marks nearer than this to the pointer get a tooltip. */
export const NEAR = 14;

export interface Picture {
  /** Above it, and as its name. */
  title: string;
  /** The end of the name of a file that it is saved in. */
  file: string;
  height: number;
  view: View;
  /** The least and the greatest value in sight. */
  range: () => { low: number; high: number };
  /** A value of the axis as text; `null` if there is no such axis. */
  text: ((value: number, step: number, most: number) => string) | null;
  binary?: boolean;
  draw: (frame: Frame) => void;
  /** Draws over the frame, outside the clipped part. */
  over?: (frame: Frame) => void;
  near: (frame: Frame, x: number, y: number) => Hit | null;
  keys: Key[];
  /** Keys of what is drawn at times only, such as a flow to compare with. */
  moreKeys?: () => Key[];
  /** A fact of what is in sight, next to the title. */
  note?: () => string;
  top?: number;
}

export function xOf(frame: Frame, time: number): number {
  return frame.left + ((time - frame.view.from) / frame.view.span) * (frame.right - frame.left);
}

export function yOf(frame: Frame, value: number): number {
  return frame.bottom - ((value - frame.low) / (frame.high - frame.low)) * (frame.bottom - frame.top);
}

export function timeOf(frame: Frame, x: number): number {
  return frame.view.from + ((x - frame.left) / (frame.right - frame.left)) * frame.view.span;
}
