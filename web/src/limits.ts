// A flow's limits over time: the whole life as a bar, on which what the pictures below show is marked.

import { type Flow, named, type Page, type Spell } from "./data.ts";
import { button, canvas, colour, el } from "./dom.ts";
import { FONT, leftOf, RIGHT, type Tip } from "./frame.ts";
import { showTip, strip, timeTicks } from "./plot.ts";
import { duration, instant, percent } from "./quantity.ts";
import type { View } from "./view.ts";

const BAR = 30;
const HEIGHT = BAR + 26;
/** Of time without a cause. */
const NOTHING = "not limited, or not seen";

/** `find` goes to what is said of a cause; `null` if nothing is. */
export function limitsBar(
  page: Page,
  flow: Flow,
  spells: Spell[],
  view: View,
  find: (cause: number) => (() => void) | null,
): HTMLElement {
  const tip = el("div", { class: "tip", role: "status" });
  const chosen = el("p", { class: "chosen", role: "status", hidden: "" });
  let selected: Spell | null = null;
  const whole = view.last - view.first;
  const bar = canvas(`Limits over time. ${flow.verdict}`, HEIGHT, (context, width, height) => {
    const left = leftOf(width);
    const inner = width - left - RIGHT;
    const x = (time: number): number => left + ((time - view.first) / whole) * inner;
    context.globalAlpha = 1;
    context.fillStyle = colour("ground");
    context.fillRect(0, 0, width, height);
    strip(context, page, spells, { left, width: inner, top: 2, height: BAR, from: view.first, to: view.last });
    context.font = FONT;
    context.fillStyle = colour("faint");
    context.textBaseline = "top";
    context.textAlign = "right";
    context.fillText("limited by", left - 8, 11);
    context.textAlign = "center";
    for (const { at, text } of timeTicks(view.first, view.last, inner).ticks) {
      context.fillText(text, Math.min(x(at), width - 30), BAR + 10);
    }
    if (!view.isWhole) {
      context.fillStyle = colour("veil");
      context.fillRect(left, 0, x(view.from) - left, BAR + 4);
      context.fillRect(x(view.to), 0, width - RIGHT - x(view.to), BAR + 4);
      context.strokeStyle = colour("ink");
      context.lineWidth = 2;
      context.strokeRect(x(view.from), 1, Math.max(2, x(view.to) - x(view.from)), BAR + 2);
    }
  });
  view.onChange(bar.redraw);
  const element = bar.element;
  element.tabIndex = 0;

  const select = (spell: Spell | null): void => {
    selected = spell;
    chosen.hidden = spell === null;
    if (!spell) return;
    const { title, rows } = spellTip(page, flow, spell);
    const to = find(spell.cause);
    chosen.replaceChildren(
      el("span", { class: "key", style: `--key:var(--limit-${limitOf(page, spell)})` }),
      el("strong", {}, title),
      ` ${rows.map(([name, value]) => `${name} ${value}`).join(", ")}. `,
      ...(to ? [el("button", { type: "button", class: "link", onclick: to }, "What to do")] : []),
      " ",
      button("×", "Deselect", () => {
        select(null);
        view.reset();
      }, { class: "close" }),
    );
    const around = Math.max((spell.to - spell.from) * 0.15, whole / 1e4);
    view.set(spell.from - around, spell.to + around);
  };

  // The bar shows the whole life: a press selects what is there, and a drag chooses a stretch.
  const timeAt = (x: number): number => {
    const left = leftOf(element.clientWidth);
    return view.first + Math.max(0, Math.min(1, (x - left) / (element.clientWidth - left - RIGHT))) * whole;
  };
  const spellAt = (time: number): Spell | undefined => spells.find((one) => one.from <= time && time < one.to);
  let pressed: number | null = null;
  const isFar = (time: number): boolean => pressed !== null && Math.abs(time - pressed) > whole / 200;
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    pressed = timeAt(event.offsetX);
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener("pointermove", (event) => {
    const time = timeAt(event.offsetX);
    if (pressed !== null && isFar(time)) view.set(Math.min(pressed, time), Math.max(pressed, time));
    const spell = spellAt(time);
    showTip(tip, spell ? spellTip(page, flow, spell) : null, event.offsetX, event.offsetY, element.clientWidth);
  });
  element.addEventListener("pointerup", (event) => {
    const time = timeAt(event.offsetX);
    if (pressed !== null && !isFar(time)) select(spellAt(time) ?? null);
    pressed = null;
  });
  element.addEventListener("pointercancel", () => (pressed = null));
  element.addEventListener("pointerleave", () => showTip(tip, null, 0, 0, 0));
  element.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step !== undefined) {
      const at = selected ? spells.indexOf(selected) + step : step > 0 ? 0 : spells.length - 1;
      select(spells[Math.max(0, Math.min(spells.length - 1, at))] ?? null);
    } else if (event.key === "Escape" || event.key === "0") {
      select(null);
      view.reset();
    } else return;
    event.preventDefault();
  });
  return el("div", { class: "bar" }, element, tip, legend(page, spells), chosen);
}

function limitOf(page: Page, spell: Spell): string {
  return page.limits[page.causes[spell.cause]?.limit ?? -1]?.slug ?? "none";
}

function spellTip(page: Page, flow: Flow, spell: Spell): Tip {
  const finding = flow.findings.find((one) => one.cause === spell.cause);
  const span = spell.to - spell.from;
  const rows: [string, string][] = [["from", instant(spell.from, span)], ["for", duration(span)]];
  if (finding) rows.push(["in all", finding.amount]);
  return { title: spell.cause < 0 ? NOTHING : named(page, spell.cause), rows };
}

/** One entry per limit that occurs, most time first. */
function legend(page: Page, spells: Spell[]): HTMLElement {
  const times = new Map<number, number>();
  let [whole, nothing] = [0, 0];
  for (const spell of spells) {
    const [limit, time] = [page.causes[spell.cause]?.limit, spell.to - spell.from];
    if (limit === undefined) {
      nothing += time;
    } else {
      times.set(limit, (times.get(limit) ?? 0) + time);
      whole += time;
    }
  }
  const entries = [...times].sort((a, b) => b[1] - a[1]);
  const key = (slug: string): HTMLElement => el("span", { class: "key", style: `--key:var(--limit-${slug})` });
  return el(
    "ul",
    { class: "legend" },
    ...entries.map(([limit, time]) => {
      const { slug, title } = page.limits[limit] ?? { slug: "unknown", title: "unknown" };
      return el("li", {}, key(slug), `${title} ${percent(time / whole)}`);
    }),
    // Not a part of the shares, which are of the time that is known.
    nothing > 0 ? el("li", {}, key("none"), `${NOTHING}: ${duration(nothing)}`) : null,
  );
}
