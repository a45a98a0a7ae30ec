// One flow: headline, limits, pictures, findings with evidence and advice, what cannot be told.

import { flightPlot, roundTripPlot } from "./curves.ts";
import { type Advice, type Finding, type Flow, type Page, spellsOf, unpack, unpackQueueing } from "./data.ts";
import { el } from "./dom.ts";
import { limitsBar } from "./limits.ts";
import { duration, fromArgument, instant } from "./quantity.ts";
import { queueingPlot } from "./queueing.ts";
import { sequencePlot } from "./sequence.ts";
import { View } from "./view.ts";

export function flowPanel(page: Page, flow: Flow): HTMLElement {
  const view = new View(flow.first_ns, Math.max(flow.last_ns, flow.first_ns + 1000));
  const spells = spellsOf(flow);
  return el(
    "article",
    { "aria-label": `flow ${flow.flow}` },
    el(
      "header",
      {},
      el("p", { class: "eyebrow" }, `Flow ${flow.flow}`, flow.lost_ns > 0 ? ` · ${duration(flow.lost_ns)} lost` : ""),
      el("h2", {}, flow.ends),
      el("p", { class: "verdict" }, `${capital(flow.moved)}. `, el("strong", {}, flow.verdict)),
      flow.ending === null ? null : el("p", {}, flow.ending),
    ),
    spells.length === 0 ? null : limitsBar(page, flow, spells, view),
    ...pictures(page, flow, view),
    flow.findings.length === 0 ? null : findings(page, flow, view),
    measures(flow),
    flow.on_the_way.length === 0
      ? null
      : el("section", {}, el("h3", {}, "On the way between the two recordings"), sentences(flow.on_the_way)),
    el(
      "section",
      {},
      el("h3", {}, flow.blind_spots.length > 0 ? "What this capture cannot show" : "Where it was recorded"),
      el("p", {}, flow.vantage),
      sentences(flow.blind_spots),
    ),
  );
}

function sentences(all: string[]): HTMLElement {
  return el("ul", {}, ...all.map((text) => el("li", {}, text)));
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function pictures(page: Page, flow: Flow, view: View): (HTMLElement | null)[] {
  if (flow.picture === null) {
    const reason = flow.findings.length === 0 ? "There was no data to draw." : "No picture of this flow was kept.";
    return [el("p", { class: "faint" }, reason)];
  }
  const picture = unpack(flow.picture);
  const shown = el("span", { class: "shown-span", role: "status" });
  const tell = (): void => {
    shown.textContent = view.isWhole
      ? `all ${duration(view.span)}`
      : `${instant(view.from, view.span / 10)} to ${instant(view.to, view.span / 10)}, ${duration(view.span)}`;
  };
  view.onChange(tell);
  tell();
  const button = (text: string, title: string, action: () => void): HTMLElement =>
    el("button", { type: "button", title, "aria-label": title, onclick: action }, text);
  const controls = el(
    "div",
    { class: "controls", role: "group", "aria-label": "Stretch of time" },
    button("←", "Earlier", () => view.pan(-0.5)),
    button("→", "Later", () => view.pan(0.5)),
    button("+", "Zoom in", () => view.zoom(0.5)),
    button("−", "Zoom out", () => view.zoom(2)),
    button("All", "Show all", () => view.reset()),
    shown,
    el("span", { class: "hint" }, "wheel or + − zooms, drag or ← → moves, double click goes nearer, 0 shows all"),
  );
  return [
    el(
      "section",
      { class: "pictures" },
      el("h3", {}, "Time and sequence"),
      controls,
      sequencePlot(page, picture, spellsOf(flow), view, flow.ends),
      flow.queueing === null ? null : queueingPlot(unpackQueueing(flow.queueing), view),
      flightPlot(picture, view),
      roundTripPlot(picture, view),
      picture.merged > 0
        ? el("p", { class: "faint" }, "There were more packets than fit: neighbours of the same kind are drawn as one.")
        : null,
    ),
  ];
}

function findings(page: Page, flow: Flow, view: View): HTMLElement {
  return el(
    "section",
    { class: "findings" },
    el("h3", {}, "What limited it, and how to fix it"),
    ...flow.findings.map((finding, place) => findingCard(page, flow, finding, view, place === 0)),
  );
}

function findingCard(page: Page, flow: Flow, finding: Finding, view: View, open: boolean): HTMLElement {
  const cause = page.causes[finding.cause];
  const limit = cause ? page.limits[cause.limit] : undefined;
  const colour = `var(--limit-${limit?.slug ?? "unknown"})`;
  const width = Math.max(1, finding.share * 100);
  const places = finding.instants_ns.map((at) =>
    el("button", { type: "button", class: "link", onclick: () => look(view, at) }, instant(at, 1e9)),
  );
  const command = flow.show !== null && finding.instants_ns[0] !== undefined
    ? `${flow.show} --from ${fromArgument(finding.instants_ns[0])}`
    : null;
  return el(
    "details",
    { class: "finding", ...(open ? { open: "" } : {}) },
    el(
      "summary",
      {},
      el("span", { class: "key", style: `background:${colour}` }),
      el("span", { class: "title" }, `${limit?.title ?? ""}: ${cause?.title ?? ""}`),
      el("span", { class: "amount" }, `${finding.amount} · ${finding.confidence} confidence`),
      el("span", { class: "share" }, el("span", { style: `width:${width}%;background:${colour}` })),
    ),
    el("ul", { class: "evidence" }, ...finding.evidence.map((text) => el("li", {}, text))),
    places.length > 0 ? el("p", {}, "Look at ", ...places.flatMap((one, i) => (i > 0 ? [", ", one] : [one]))) : null,
    command === null ? null : commandLine(command),
    finding.advice.length > 0 ? el("h4", {}, "What to do") : null,
    ...finding.advice.map(adviceBlock),
    el("p", { class: "faint" }, "Explained by: ", el("code", {}, `slowpath causes ${cause?.name ?? ""}`)),
  );
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

function commandLine(line: string): HTMLElement {
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
