// One flow: headline, limits, pictures, findings with evidence and advice, what cannot be told.

import { flightPlot, roundTripPlot, throughputPlot } from "./curves.ts";
import { Comparison, compareWith } from "./compare.ts";
import { type Advice, type Finding, type Flow, named, type Page, spellsOf, unpack, unpackQueueing } from "./data.ts";
import { button, el } from "./dom.ts";
import { eventsPlot, finest } from "./events.ts";
import { handbook } from "./handbook.ts";
import { limitsBar } from "./limits.ts";
import { sharePointer } from "./plot.ts";
import { duration, fromArgument, instant } from "./quantity.ts";
import { queueingPlot } from "./queueing.ts";
import { sequencePlot } from "./sequence.ts";
import { drag } from "./steer.ts";
import { View } from "./view.ts";

export function flowPanel(page: Page, flow: Flow): HTMLElement {
  const view = new View(flow.first_ns, Math.max(flow.last_ns, flow.first_ns + 1000));
  const spells = spellsOf(flow);
  const cards = flow.findings.map((finding, place) => findingCard(page, flow, finding, view, place === 0));
  const find = (cause: number): (() => void) | null => {
    const card = cards[flow.findings.findIndex((finding) => finding.cause === cause)];
    if (!card) return null;
    return () => {
      card.open = true;
      card.scrollIntoView({ behavior: "smooth", block: "start" });
    };
  };
  const number = page.flow_count > 1 ? `Flow ${flow.flow}` : null;
  const lost = flow.lost_ns > 0 ? `${duration(flow.lost_ns)} lost` : null;
  return el(
    "article",
    { "aria-label": `flow ${flow.flow}` },
    el(
      "header",
      {},
      el("p", { class: "eyebrow" }, [number, lost].filter((part) => part !== null).join(" · ")),
      el("h2", {}, flow.ends),
      el("p", { class: "verdict" }, `${capital(flow.moved)}. `, el("strong", {}, unbroken(flow.verdict))),
      flow.ending === null ? null : el("p", {}, flow.ending),
    ),
    spells.length === 0 ? null : limitsBar(page, flow, spells, view, find),
    ...pictures(page, flow, view),
    cards.length === 0
      ? null
      : el("section", { class: "findings" }, el("h3", {}, "What limited it, and how to fix it"), ...cards),
    otherEnd(page, flow, view),
    measures(flow),
    flow.on_the_way.length === 0
      ? null
      : el("section", {}, el("h3", {}, "On the way between the two recordings"), sentences(flow.on_the_way)),
    packetsOf(flow),
    el(
      "section",
      {},
      el("h3", {}, flow.blind_spots.length > 0 ? "What this capture cannot show" : "Where it was recorded"),
      el("p", {}, flow.vantage),
      sentences(flow.blind_spots),
    ),
  );
}

/** What the other recording says by itself: the verdict above is of both. */
function otherEnd(page: Page, flow: Flow, view: View): HTMLElement | null {
  const { other_end } = flow;
  if (!other_end) return null;
  return el(
    "section",
    {},
    el("h3", {}, "What the other recording says by itself"),
    el("p", {}, `${other_end.recording}, recorded ${other_end.vantage}: `, el("strong", {}, unbroken(other_end.verdict))),
    el(
      "details",
      { class: "explained" },
      el("summary", {}, "Its evidence"),
      ...other_end.findings.map((finding) =>
        el(
          "div",
          { class: "finding" },
          head("p", page, finding),
          finding.evidence.length === 0 ? null : sentences(finding.evidence),
          lookAt(finding, view),
        ),
      ),
    ),
  );
}

/** The commands that show the flow's packets, in each recording. */
function packetsOf(flow: Flow): HTMLElement | null {
  const commands = [flow.show, flow.show_other].filter((command) => command !== null);
  if (commands.length === 0) return null;
  const title = commands.length > 1 ? "Its packets, in both recordings" : "Its packets";
  return el("section", {}, el("h3", {}, title), ...commands.map(commandLine));
}

function sentences(all: string[]): HTMLElement {
  return el("ul", {}, ...all.map((text) => el("li", {}, text)));
}

/** A number and its percent sign stay on one line. */
function unbroken(text: string): string {
  return text.replaceAll(" %", "\u00a0%");
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function pictures(page: Page, flow: Flow, view: View): (HTMLElement | null)[] {
  if (flow.picture === null) {
    // Where no packets were seen, as on a watched host, there is none to miss.
    if (page.labels.length === 0) return [];
    const reason = flow.findings.length === 0 ? "There was no data to draw." : "No picture of this flow was kept.";
    return [el("p", { class: "faint" }, reason)];
  }
  const picture = unpack(flow.picture);
  view.finest = finest(picture);
  const queueing = flow.queueing === null ? null : unpackQueueing(flow.queueing);
  const file = `flow-${flow.flow}`;
  const comparison = new Comparison(flow, view);
  const section = el(
    "section",
    { class: "pictures", "aria-label": "Pictures over time" },
    controls(view, compareWith(page, flow, comparison)),
    throughputPlot(picture, view, file, comparison),
    sequencePlot(page, picture, spellsOf(flow), view, file, comparison),
    eventsPlot(page, flow, picture, queueing, view, file),
    flightPlot(picture, view, file),
    roundTripPlot(picture, view, file, comparison),
    queueing === null ? null : queueingPlot(queueing, view, file),
    picture.merged > 0
      ? el("p", { class: "faint" }, "There were more packets than fit: neighbours of the same kind are drawn as one.")
      : null,
  );
  sharePointer(section);
  return [section];
}

/** The buttons that move all pictures, and what is shown. */
function controls(view: View, compare: HTMLElement): HTMLElement {
  const shown = el("span", { class: "shown-span", role: "status" });
  const all = button("All", "Show all", () => view.reset());
  const tell = (): void => {
    shown.textContent = view.isWhole
      ? `all ${duration(view.span)}`
      : `${instant(view.from, view.span / 10)} to ${instant(view.to, view.span / 10)}, ${duration(view.span)}`;
    all.disabled = view.isUntouched;
  };
  view.onChange(tell);
  tell();
  const move = button("Move", "Drag moves the pictures", () => choose(false));
  const box = button("Box", "Drag chooses a box, which is then shown", () => choose(true));
  const choose = (asked: boolean): void => {
    drag.box = asked;
    move.setAttribute("aria-pressed", String(!asked));
    box.setAttribute("aria-pressed", String(asked));
  };
  choose(drag.box);
  return el(
    "div",
    { class: "controls", role: "group", "aria-label": "Stretch of time" },
    button("←", "Earlier", () => view.pan(-0.5)),
    button("→", "Later", () => view.pan(0.5)),
    button("+", "Zoom in", () => view.zoom(0.5)),
    button("−", "Zoom out", () => view.zoom(2)),
    all,
    shown,
    compare,
    el("span", { class: "drag", role: "group", "aria-label": "What a drag does" }, move, box),
    help(),
  );
}

const HELP: [string, string][] = [
  ["wheel, + and −, two fingers", "zoom the time, in all pictures together"],
  ["drag, ← and →, page up and down", "move"],
  ["shift and drag, or Box and drag", "zoom to a box; a flat box chooses the time alone"],
  ["wheel or drag on the axis at the left, shift and ↑ or ↓, two fingers above each other", "zoom or move the values"],
  ["double click", "goes nearer; on the axis at the left, shows all values"],
  ["0 or All", "shows everything"],
  ["click on the bar above, or ← and → there", "selects what limited it at that time"],
];

function help(): HTMLElement {
  return el(
    "details",
    { class: "help" },
    el("summary", {}, "Mouse and keys"),
    el("dl", {}, ...HELP.flatMap(([how, what]) => [el("dt", {}, how), el("dd", {}, what)])),
  );
}

function findingCard(page: Page, flow: Flow, finding: Finding, view: View, open: boolean): HTMLDetailsElement {
  const cause = page.causes[finding.cause];
  const [first] = finding.instants_ns;
  // The other recording's clock may differ, so only this one can be told from when.
  const command = flow.show !== null && first !== undefined ? `${flow.show} --from ${fromArgument(first)}` : null;
  return el(
    "details",
    { class: "finding", ...(open ? { open: "" } : {}) },
    head("summary", page, finding),
    el("ul", { class: "evidence" }, ...finding.evidence.map((text) => el("li", {}, text))),
    lookAt(finding, view),
    command === null ? null : commandLine(command),
    finding.advice.length > 0 ? el("h4", {}, "What to do") : null,
    ...finding.advice.map(adviceBlock),
    cause && cause.page !== null ? explained(cause.page, cause.name) : null,
  );
}

/** A finding's cause, amount and share. */
function head(tag: "summary" | "p", page: Page, finding: Finding): HTMLElement {
  const limit = page.limits[page.causes[finding.cause]?.limit ?? -1];
  const key = `--key:var(--limit-${limit?.slug ?? "unknown"})`;
  const width = Math.max(0.5, finding.share * 100);
  return el(
    tag,
    { class: "head" },
    el("span", { class: "key", style: key }),
    el("span", { class: "title" }, named(page, finding.cause)),
    el("span", { class: "amount" }, finding.amount + (finding.confidence === "" ? "" : ` · ${finding.confidence} confidence`)),
    el("span", { class: "share" }, el("span", { style: `width:${width}%;${key}` })),
  );
}

/** Links to the places in the pictures at which a finding shows. */
function lookAt(finding: Finding, view: View): HTMLElement | null {
  const places = finding.instants_ns.map((at) =>
    el("button", { type: "button", class: "link", onclick: () => look(view, at) }, instant(at, 1e9)),
  );
  return places.length > 0 ? el("p", {}, "Look at ", ...places.flatMap((one, i) => (i > 0 ? [", ", one] : [one]))) : null;
}

/** The handbook's page of a cause, which is made when it is opened. */
function explained(markdown: string, name: string): HTMLElement {
  const details = el("details", { class: "explained" }, el("summary", {}, "About this cause ", el("code", {}, name)));
  const fill = (): void => {
    if (details.childElementCount === 1) details.append(handbook(markdown));
  };
  details.addEventListener("toggle", fill);
  return details;
}

function look(view: View, at: number): void {
  view.lookAt(at);
  document.querySelector(".pictures")?.scrollIntoView({ behavior: "smooth", block: "start" });
}

function adviceBlock(advice: Advice): HTMLElement {
  const hosts: Record<string, string> = {
    sender: "On the sender",
    receiver: "On the receiver",
    path: "On the device in front of the bottleneck",
    either: "On either end",
  };
  return el(
    "div",
    { class: "advice" },
    el("p", {}, advice.text),
    ...advice.fixes.map((fix) =>
      el(
        "div",
        { class: "command" },
        el(
          "p",
          { class: "faint" },
          `${hosts[fix.host] ?? fix.host}${fix.needs === null ? "" : `, as ${fix.needs}`}: ${fix.effect}`,
        ),
        commandLine(fix.command),
        fix.undo === null
          ? null
          : el("p", { class: "faint" }, "Undo: ", el("code", {}, fix.undo)),
      ),
    ),
    advice.caution === null ? null : el("p", { class: "caution" }, advice.caution),
  );
}

export function commandLine(line: string): HTMLElement {
  const copy = el("button", { type: "button", class: "copy", title: "Copy", "aria-label": `Copy: ${line}` }, "copy");
  copy.addEventListener("click", () => {
    const done = (): void => {
      copy.textContent = "copied";
      setTimeout(() => (copy.textContent = "copy"), 1500);
    };
    navigator.clipboard?.writeText(line).then(done, () => undefined);
  });
  return el("div", { class: "line" }, el("pre", {}, el("code", {}, line)), copy);
}

function measures(flow: Flow): HTMLElement {
  return el(
    "section",
    {},
    el("h3", {}, "Measures"),
    flow.repetition === null ? null : el("p", {}, `${flow.repetition}.`),
    el(
      "dl",
      { class: "measures" },
      ...flow.measures.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))),
    ),
  );
}
