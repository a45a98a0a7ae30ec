// Saves a picture as SVG or PNG, with its title and legend.

import { button, colour, el, type Key, type Pen } from "./dom.ts";
import { FONT, type Frame, type Picture, RIGHT } from "./frame.ts";
import { SvgPen } from "./svg.ts";

type Render = (pen: Pen, width: number, height: number) => Frame;

/** The least and the greatest width of a saved picture. */
const WIDTHS = [640, 1600] as const;
const HEAD = 26;
const LINE = 18;
/** Dots for each pixel in a PNG, so that it is sharp in print. */
const DOTS = 2;
/** What the name of a saved file begins with. */
export const saved = { name: "slowpath", about: "" };

export function saveButtons(picture: Picture, render: Render, width: () => number): HTMLElement {
  const asked = (): number => Math.min(Math.max(width(), WIDTHS[0]), WIDTHS[1]);
  return el(
    "span",
    { class: "save" },
    button("SVG", `Save as SVG: ${picture.title}`, () => {
      download(asSvg(picture, render, asked()), "image/svg+xml", `${picture.file}.svg`);
    }),
    button("PNG", `Save as PNG: ${picture.title}`, () => {
      asPng(picture, render, asked()).toBlob((blob) => blob && offer(blob, `${picture.file}.png`), "image/png");
    }),
  );
}

export function asSvg(picture: Picture, render: Render, width: number): string {
  const lines = legendLines(keysOf(picture), width);
  const pen = new SvgPen(width, heightOf(picture, lines), picture.title);
  compose(pen, picture, render, width, lines);
  return pen.text();
}

function asPng(picture: Picture, render: Render, width: number): HTMLCanvasElement {
  const lines = legendLines(keysOf(picture), width);
  const element = el("canvas", {
    width: String(width * DOTS), height: String(heightOf(picture, lines) * DOTS),
  });
  const context = element.getContext("2d");
  if (context) {
    context.scale(DOTS, DOTS);
    compose(context, picture, render, width, lines);
  }
  return element;
}

function keysOf(picture: Picture): Key[] {
  return [...picture.keys, ...(picture.moreKeys?.() ?? [])];
}

function heightOf(picture: Picture, lines: Key[][]): number {
  return HEAD + picture.height + lines.length * LINE + 8;
}

/** About the width of `text` in the pictures' font: a pen of SVG cannot measure it. */
function widthOf(text: string): number {
  return text.length * 6.2 + 34;
}

function legendLines(keys: Key[], width: number): Key[][] {
  const lines: Key[][] = [];
  let used = Infinity;
  for (const key of keys) {
    const wide = widthOf(key.text);
    if (used + wide > width - 100) {
      lines.push([]);
      used = 0;
    }
    lines.at(-1)?.push(key);
    used += wide;
  }
  return lines;
}

/** The title, the picture and its legend below each other. */
function compose(pen: Pen, picture: Picture, render: Render, width: number, lines: Key[][]): void {
  const height = heightOf(picture, lines);
  pen.fillStyle = colour("ground");
  pen.fillRect(0, 0, width, height);
  const moved = shifted(pen, HEAD);
  const frame = render(moved, width, picture.height);
  pen.textBaseline = "top";
  pen.textAlign = "left";
  pen.font = `600 ${FONT.replace("11px", "13px")}`;
  pen.fillStyle = colour("ink");
  pen.fillText(picture.title, frame.left, 7);
  pen.font = FONT;
  pen.textAlign = "right";
  pen.fillStyle = colour("faint");
  pen.fillText(saved.about, width - RIGHT, 9);
  pen.textAlign = "left";
  lines.forEach((keys, line) => {
    const y = HEAD + picture.height + line * LINE + 2;
    let x = frame.left;
    for (const key of keys) {
      pen.fillStyle = colour(key.colour);
      const thin = key.shape === "line" || key.shape === "dashed";
      pen.fillRect(x, thin ? y + 4 : y, 11, thin ? 3 : 11);
      pen.fillStyle = colour("ink");
      pen.fillText(key.text, x + 17, y);
      x += widthOf(key.text);
    }
  });
}

/** `pen`, with everything `down` pixels lower. */
function shifted(pen: Pen, down: number): Pen {
  const lower: Record<string, (...all: number[]) => void> = {
    fillRect: (x, y, width, height) => pen.fillRect(x as number, (y as number) + down, width as number, height as number),
    strokeRect: (x, y, width, height) =>
      pen.strokeRect(x as number, (y as number) + down, width as number, height as number),
    rect: (x, y, width, height) => pen.rect(x as number, (y as number) + down, width as number, height as number),
    moveTo: (x, y) => pen.moveTo(x as number, (y as number) + down),
    lineTo: (x, y) => pen.lineTo(x as number, (y as number) + down),
  };
  return new Proxy(pen, {
    get(target, name) {
      const own = lower[String(name)];
      if (own) return own;
      if (name === "fillText") return (text: string, x: number, y: number) => target.fillText(text, x, y + down);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  });
}

function download(text: string, type: string, name: string): void {
  offer(new Blob([text], { type }), name);
}

function offer(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  const link = el("a", { href: address, download: `${saved.name}-${name}` });
  link.click();
  // Not at once: the browser still reads it.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
