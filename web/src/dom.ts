// Elements from data. Text only ever becomes text nodes: nothing of the data is read as markup.

type Props = Record<string, string | ((event: Event) => void)>;
type Child = Node | string | null;

/** An element; props starting with "on" are listeners, the others attributes. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "string") element.setAttribute(name, value);
    else element.addEventListener(name.slice(2), value);
  }
  for (const child of children) if (child !== null) element.append(child);
  return element;
}

/** What drawing uses of a canvas, so that a picture can be drawn as SVG too. */
export type Pen = Pick<
  CanvasRenderingContext2D,
  | "fillStyle" | "strokeStyle" | "lineWidth" | "globalAlpha" | "font" | "textAlign" | "textBaseline"
  | "fillRect" | "strokeRect" | "beginPath" | "moveTo" | "lineTo" | "rect" | "closePath" | "stroke" | "fill" | "clip"
  | "fillText" | "save" | "restore" | "setLineDash"
>;

/** The canvases of the page, which are drawn again when the colours change. */
const drawn = new Set<{ element: HTMLCanvasElement; draw: () => void }>();

export function redrawAll(): void {
  colours.clear();
  for (const one of drawn) {
    if (one.element.isConnected) one.draw();
    else drawn.delete(one);
  }
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);

/** A canvas that keeps the size of its place. `draw` is called when there is something to draw. */
export function canvas(
  name: string,
  height: number,
  draw: (pen: Pen, width: number, height: number) => void,
): { element: HTMLCanvasElement; redraw: () => void } {
  const element = el("canvas", { role: "img", "aria-label": name, style: `height:${height}px` });
  const now = (): void => {
    const width = element.clientWidth;
    const context = element.getContext("2d");
    if (width === 0 || !context) return;
    const dots = window.devicePixelRatio || 1;
    element.width = Math.round(width * dots);
    element.height = Math.round(height * dots);
    context.setTransform(dots, 0, 0, dots, 0, 0);
    draw(context, width, height);
  };
  let asked = false;
  const redraw = (): void => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      now();
    });
  };
  new ResizeObserver(redraw).observe(element);
  drawn.add({ element, draw: now });
  return { element, redraw };
}

const colours = new Map<string, string>();

/** The value of a CSS custom property, which differs between light and dark. */
export function colour(name: string): string {
  let value = colours.get(name);
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
    colours.set(name, value);
  }
  return value;
}

/** An entry of a legend: the name of a colour, what it stands for, and how it is drawn. */
export interface Key {
  colour: string;
  text: string;
  shape?: "line" | "dashed" | "diamond";
}

export function legendOf(keys: Key[]): HTMLElement {
  return el(
    "ul",
    { class: "legend" },
    ...keys.map(({ colour, text, shape }) =>
      el("li", {}, el("span", { class: `key ${shape === "line" ? "thin" : (shape ?? "")}`, style: `--key:var(--${colour})` }), text),
    ),
  );
}

/** A button with a name for those who do not see it. */
export function button(text: string, title: string, action: () => void, more: Props = {}): HTMLButtonElement {
  return el("button", { type: "button", title, "aria-label": title, onclick: action, ...more }, text);
}
