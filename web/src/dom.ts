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

/** A canvas that keeps the size of its place, and reports when that changes. */
export function canvas(
  name: string,
  height: number,
  draw: (context: CanvasRenderingContext2D, width: number, height: number) => void,
): { element: HTMLCanvasElement; redraw: () => void } {
  const element = el("canvas", { role: "img", "aria-label": name, style: `height:${height}px` });
  let asked = false;
  const redraw = (): void => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      const width = element.clientWidth;
      if (width === 0) return;
      const dots = window.devicePixelRatio || 1;
      element.width = Math.round(width * dots);
      element.height = Math.round(height * dots);
      const context = element.getContext("2d");
      if (!context) return;
      context.setTransform(dots, 0, 0, dots, 0, 0);
      draw(context, width, height);
    });
  };
  new ResizeObserver(redraw).observe(element);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  return { element, redraw };
}

/** The value of a CSS custom property, which differs between light and dark. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Keys: the name of a colour, and what it stands for. */
export function legendOf(keys: [string, string][]): HTMLElement {
  return el(
    "ul",
    { class: "legend" },
    ...keys.map(([name, text]) =>
      el("li", {}, el("span", { class: "key", style: `background:var(--${name})` }), text),
    ),
  );
}
