// A flow's limits over time: the whole life as a bar, on which what the pictures below show is marked.

import type { Flow, Page, Spell } from "./data.ts";
import { canvas, colour, el } from "./dom.ts";
import { LEFT, RIGHT, strip, timeTicks } from "./plot.ts";
import { duration, instant } from "./quantity.ts";
import { steer, type View } from "./view.ts";

const BAR = 30;

export function limitsBar(page: Page, flow: Flow, spells: Spell[], view: View): HTMLElement {
  const tip = el("div", { class: "tip", role: "status" });
  const bar = canvas(`Limits over time. ${flow.verdict}`, BAR + 26, (context, width) => {
    const inner = width - LEFT - RIGHT;
    const x = (time: number): number => LEFT + ((time - view.first) / (view.last - view.first)) * inner;
    context.clearRect(0, 0, width, BAR + 26);
    strip(context, page, spells, { left: LEFT, width: inner, top: 2, height: BAR, from: view.first, to: view.last });
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = colour("faint");
    context.textBaseline = "top";
    context.textAlign = "right";
    context.fillText("limited by", LEFT - 8, 11);
    context.textAlign = "center";
    for (const { at, text } of timeTicks(view.first, view.last, width)) {
      context.fillText(text, Math.min(x(at), width - 30), BAR + 10);
    }
    if (!view.isWhole) {
      context.fillStyle = colour("veil");
      context.fillRect(LEFT, 0, x(view.from) - LEFT, BAR + 4);
      context.fillRect(x(view.to), 0, width - RIGHT - x(view.to), BAR + 4);
      context.strokeStyle = colour("ink");
      context.lineWidth = 2;
      context.strokeRect(x(view.from), 1, Math.max(2, x(view.to) - x(view.from)), BAR + 2);
    }
  });
  view.onChange(bar.redraw);

  // The bar shows the whole life, so a press goes to that time, and a drag chooses a stretch.
  const element = bar.element;
  const timeAt = (x: number): number =>
    view.first + (Math.max(0, Math.min(1, (x - LEFT) / (element.clientWidth - LEFT - RIGHT)))) * (view.last - view.first);
  let pressed: number | null = null;
  element.addEventListener(
    "pointerdown",
    (event) => {
      event.stopImmediatePropagation();
      if (event.button !== 0) return;
      pressed = timeAt(event.offsetX);
      element.setPointerCapture(event.pointerId);
    },
  );
  element.addEventListener("pointermove", (event) => {
    const time = timeAt(event.offsetX);
    const far = pressed !== null && Math.abs(time - pressed) > (view.last - view.first) / 200;
    if (pressed !== null && far) view.set(Math.min(pressed, time), Math.max(pressed, time));
    const spell = spells.find((one) => one.from <= time && time < one.to);
    tip.textContent = spell ? spellText(page, flow, spell) : "";
    tip.style.left = `${Math.min(event.offsetX, element.clientWidth - 280)}px`;
    tip.classList.toggle("shown", spell !== undefined);
  });
  element.addEventListener("pointerup", (event) => {
    const time = timeAt(event.offsetX);
    if (pressed !== null && Math.abs(time - pressed) <= (view.last - view.first) / 200 && !view.isWhole) {
      view.set(time - view.span / 2, time + view.span / 2);
    }
    pressed = null;
  });
  element.addEventListener("pointerleave", () => tip.classList.remove("shown"));
  steer(element, view, LEFT, RIGHT, timeAt);
  return el("div", { class: "bar" }, element, tip, legend(page, spells));
}

function spellText(page: Page, flow: Flow, spell: Spell): string {
  const cause = page.causes[spell.cause];
  const limit = cause ? page.limits[cause.limit] : undefined;
  const finding = flow.findings.find((one) => one.cause === spell.cause);
  const all = finding ? ` In all ${finding.amount}.` : "";
  const span = spell.to - spell.from;
  return `${limit?.title ?? ""}: ${cause?.title ?? ""}. From ${instant(spell.from, span)} for ${duration(span)}.${all}`;
}

/** One entry per limit that occurs, most time first. */
function legend(page: Page, spells: Spell[]): HTMLElement {
  const times = new Map<number, number>();
  let whole = 0;
  for (const spell of spells) {
    const limit = page.causes[spell.cause]?.limit ?? 0;
    times.set(limit, (times.get(limit) ?? 0) + spell.to - spell.from);
    whole += spell.to - spell.from;
  }
  const entries = [...times].sort((a, b) => b[1] - a[1]);
  return el(
    "ul",
    { class: "legend" },
    ...entries.map(([limit, time]) => {
      const { slug, title } = page.limits[limit] ?? { slug: "unknown", title: "unknown" };
      const part = (time / whole) * 100;
      const share = part < 0.95 ? "< 1 %" : part > 99.05 && part < 99.95 ? "> 99 %" : `${part.toFixed(0)} %`;
      return el("li", {}, el("span", { class: "key", style: `background:var(--limit-${slug})` }), `${title} ${share}`);
    }),
  );
}

/** The bar alone, small, for the list of flows. */
export function miniature(page: Page, spells: Spell[], from: number, to: number): HTMLCanvasElement {
  const small = canvas("Limits over time", 8, (context, width, height) => {
    context.clearRect(0, 0, width, height);
    strip(context, page, spells, { left: 0, width, top: 0, height, from, to });
  });
  small.element.setAttribute("aria-hidden", "true");
  return small.element;
}

