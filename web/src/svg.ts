// A pen that draws SVG: what the pictures use of a canvas, as elements.

import type { Pen } from "./dom.ts";

interface State {
  fillStyle: string;
  strokeStyle: string;
  lineWidth: number;
  globalAlpha: number;
  font: string;
  textAlign: CanvasTextAlign;
  textBaseline: CanvasTextBaseline;
  dash: number[];
  clips: boolean;
}

/** Coordinates finer than this are not seen. */
function coordinate(value: number): string {
  return String(Math.round(value * 100) / 100);
}

export function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    // XML allows no other control characters, not even escaped.
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
}

const ANCHORS: Partial<Record<CanvasTextAlign, string>> = { center: "middle", right: "end", end: "end" };
/** From the baseline that was asked for to the letters' own, in parts of the size. */
const RISE: Partial<Record<CanvasTextBaseline, number>> = { middle: 0.35, top: 0.8, hanging: 0.8 };

export class SvgPen implements Pen {
  fillStyle = "#000";
  strokeStyle = "#000";
  lineWidth = 1;
  globalAlpha = 1;
  font = "11px sans-serif";
  textAlign: CanvasTextAlign = "left";
  textBaseline: CanvasTextBaseline = "alphabetic";
  private dash: number[] = [];
  /** The rectangle of the path, and whether one was opened that clips. */
  private box = "";
  private clips = false;
  private path = "";
  private readonly saved: State[] = [];
  private readonly parts: string[] = [];

  constructor(
    private readonly width: number,
    private readonly height: number,
    private readonly name: string,
  ) {}

  private put(element: string): void {
    this.parts.push(element);
  }

  private filled(): string {
    return `fill="${escaped(this.fillStyle)}"${this.alpha("fill")}`;
  }

  private alpha(what: string): string {
    return this.globalAlpha === 1 ? "" : ` ${what}-opacity="${this.globalAlpha}"`;
  }

  private stroked(): string {
    const dash = this.dash.length > 0 ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
    return `fill="none" stroke="${escaped(this.strokeStyle)}" stroke-width="${this.lineWidth}"${dash}${this.alpha("stroke")}`;
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    this.put(`<rect ${this.place(x, y, width, height)} ${this.filled()}/>`);
  }

  strokeRect(x: number, y: number, width: number, height: number): void {
    this.put(`<rect ${this.place(x, y, width, height)} ${this.stroked()}/>`);
  }

  private place(x: number, y: number, width: number, height: number): string {
    const [w, h] = [Math.abs(width), Math.abs(height)].map(coordinate);
    return `x="${coordinate(Math.min(x, x + width))}" y="${coordinate(Math.min(y, y + height))}" width="${w}" height="${h}"`;
  }

  beginPath(): void {
    this.path = "";
  }

  moveTo(x: number, y: number): void {
    this.path += `M${coordinate(x)} ${coordinate(y)}`;
  }

  lineTo(x: number, y: number): void {
    this.path += `${this.path === "" ? "M" : "L"}${coordinate(x)} ${coordinate(y)}`;
  }

  rect(x: number, y: number, width: number, height: number): void {
    const [w, h] = [coordinate(width), coordinate(height)];
    this.path += `M${coordinate(x)} ${coordinate(y)}h${w}v${h}h${coordinate(-width)}Z`;
    const [left, top] = [coordinate(x), coordinate(y)];
    this.box = `x="${left}" y="${top}" width="${w}" height="${h}" viewBox="${left} ${top} ${w} ${h}"`;
  }

  closePath(): void {
    this.path += "Z";
  }

  stroke(): void {
    if (this.path !== "") this.put(`<path d="${this.path}" ${this.stroked()}/>`);
  }

  fill(): void {
    if (this.path !== "") this.put(`<path d="${this.path}" ${this.filled()}/>`);
  }

  /** Clips to the rectangle of the path: an inner picture shows nothing beyond its own. */
  clip(): void {
    this.parts.push(`<svg ${this.box}>`);
    this.clips = true;
  }

  fillText(text: string, x: number, y: number): void {
    const size = Number.parseFloat(/(\d+(\.\d+)?)px/.exec(this.font)?.[1] ?? "11");
    const weight = /^(bold|[1-9]00)\b/.exec(this.font)?.[1];
    const anchor = ANCHORS[this.textAlign];
    const down = y + (RISE[this.textBaseline] ?? 0) * size;
    this.put(
      `<text x="${coordinate(x)}" y="${coordinate(down)}" font-size="${size}"` +
        `${weight ? ` font-weight="${weight}"` : ""}${anchor ? ` text-anchor="${anchor}"` : ""} ${this.filled()}>` +
        `${escaped(text)}</text>`,
    );
  }

  setLineDash(dash: number[]): void {
    this.dash = dash;
  }

  save(): void {
    const { fillStyle, strokeStyle, lineWidth, globalAlpha, font, textAlign, textBaseline, dash, clips } = this;
    this.saved.push({
      fillStyle, strokeStyle, lineWidth, globalAlpha, font, textAlign, textBaseline, dash, clips,
    });
    this.clips = false;
  }

  restore(): void {
    const state = this.saved.pop();
    if (!state) return;
    if (this.clips) this.parts.push("</svg>");
    Object.assign(this, state);
  }

  text(): string {
    const { width, height } = this;
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"` +
      ` role="img" font-family="system-ui, sans-serif"><title>${escaped(this.name)}</title>${this.parts.join("")}</svg>\n`
    );
  }
}
