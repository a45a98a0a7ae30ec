// The page: what was read, the list of flows, and the flow that is chosen.

import { type Flow, type Page, readPage, spellsOf } from "./data.ts";
import { el } from "./dom.ts";
import { flowPanel } from "./flow.ts";
import { miniature } from "./limits.ts";
import { duration } from "./quantity.ts";

function heading(page: Page): HTMLElement {
  return el(
    "header",
    { class: "top" },
    el("h1", {}, "slowpath"),
    ...page.recordings.flatMap((recording) => [
      el("p", {}, el("strong", {}, recording.name), ` ${recording.facts}`),
      ...recording.warnings.map((text) => el("p", { class: "caution" }, text)),
      ...recording.notes.map((text) => el("p", { class: "faint" }, text)),
    ]),
    ...page.remarks.map((text) => el("p", { class: "faint" }, text)),
  );
}

function entry(page: Page, flow: Flow, choose: () => void): HTMLButtonElement {
  return el(
    "button",
    { type: "button", class: "entry", "data-flow": String(flow.flow), onclick: choose },
    el("span", { class: "number" }, String(flow.flow)),
    el("span", { class: "ends" }, flow.ends),
    el("span", { class: "short" }, flow.verdict_in_short),
    el("span", { class: "faint" }, flow.lost_ns > 0 ? `${duration(flow.lost_ns)} lost` : "nothing lost"),
    miniature(page, spellsOf(flow), flow.first_ns, Math.max(flow.last_ns, flow.first_ns + 1)),
  );
}

function start(): void {
  const page = readPage(document.getElementById("data")?.textContent ?? "");
  const main = el("main", {});
  const entries = new Map<Flow, HTMLButtonElement>();
  const choose = (flow: Flow): void => {
    for (const [other, button] of entries) {
      if (other === flow) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
    main.replaceChildren(flowPanel(page, flow));
    // The address remembers the flow, so that a link can lead to it.
    history.replaceState(null, "", `#flow-${flow.flow}`);
  };
  for (const flow of page.flows) entries.set(flow, entry(page, flow, () => choose(flow)));
  const several = page.flows.length > 1 || page.groups.length > 0;
  const list = el(
    "nav",
    { "aria-label": "Flows" },
    el("h2", {}, `${page.flow_count.toLocaleString("en")} TCP flow${page.flow_count === 1 ? "" : "s"}, slowest first`),
    ...entries.values(),
    page.groups.length === 0
      ? null
      : el("details", {}, el("summary", {}, "The others"), el("ul", {}, ...page.groups.map((text) => el("li", {}, text)))),
  );
  const root = document.getElementById("page");
  root?.append(heading(page), el("div", { class: several ? "columns" : "single" }, several ? list : null, main));
  const asked = page.flows.find((flow) => location.hash === `#flow-${flow.flow}`) ?? page.flows[0];
  if (asked) choose(asked);
  else main.append(el("p", {}, "There is no TCP in this recording, so there is nothing to say."));
}

start();
