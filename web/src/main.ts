// The page: what was read, the list of flows, and the flow that is chosen.

import { type Flow, type Page, readPage } from "./data.ts";
import { el, redrawAll } from "./dom.ts";
import { commandLine, flowPanel } from "./flow.ts";
import { flowList } from "./list.ts";
import { bytes, duration, number, percent, rate } from "./quantity.ts";
import { saved } from "./save.ts";
import { Table } from "./table.ts";

function heading(page: Page): HTMLElement {
  const several = page.recordings.length > 1;
  return el(
    "header",
    { class: "top" },
    el("p", { class: "eyebrow" }, `slowpath ${page.version} · what limited these TCP transfers`),
    el("h1", {}, page.title),
    ...page.recordings.flatMap((recording) => {
      const facts = [recording.began === null ? null : `recorded ${recording.began}`, recording.facts];
      const text = facts.filter((one) => one !== null).join(" · ");
      const name = several || recording.name !== page.title ? `${recording.name} · ` : "";
      return [
        el("p", { class: "faint" }, `${name}${text}`),
        ...recording.warnings.map((one) => el("p", { class: "caution" }, one)),
        ...recording.notes.map((one) => el("p", { class: "faint" }, one)),
      ];
    }),
    ...page.remarks.map((text) => el("p", { class: "faint" }, text)),
  );
}

/** A flow that the page has in the list only. */
function inShort(page: Page, table: Table, row: number): HTMLElement {
  const flow = table.flow(row);
  const command = page.command === null ? null : `${page.command} --flow ${flow} --html flow-${flow}.html`;
  const verdict = table.limit(row) ? `${percent(table.share(row))} of that time: ${table.cause(row)}.` : "It carried no data.";
  const time = duration(table.time(row) * 1e3);
  const speed = table.rate(row) > 0 ? ` (${rate(table.rate(row))})` : "";
  return el(
    "article",
    { "aria-label": `flow ${flow}` },
    el(
      "header",
      {},
      el("p", { class: "eyebrow" }, `Flow ${flow}`),
      el("h2", {}, table.ends(row)),
      el("p", { class: "verdict" }, `${bytes(table.bytes(row))} in ${time}${speed}. `, el("strong", {}, verdict)),
    ),
    el("p", { class: "faint" }, `The page shows the ${number(page.flows.length)} flows in full that lost most time.`),
    ...(command === null ? [] : [el("p", {}, "This one in full:"), commandLine(command)]),
  );
}

function start(): void {
  const page = readPage(document.getElementById("data")?.textContent ?? "");
  saved.name = page.title.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[.-]+/, "").slice(0, 80) || "slowpath";
  saved.about = `${page.title.slice(0, 60)}, slowpath ${page.version}`;
  const table = new Table(page);
  const main = el("main", {});
  const inFull = new Map<number, Flow>(page.flows.map((flow) => [flow.flow, flow]));
  const rowOf = new Map<number, number>(page.lines.flow.map((flow, row) => [flow, row]));
  const showFlow = (row: number, byHand: boolean): void => {
    const flow = inFull.get(table.flow(row));
    main.replaceChildren(flow ? flowPanel(page, flow) : inShort(page, table, row));
    // The address remembers the flow, so that a link can lead to it.
    history.replaceState(null, "", `#flow-${table.flow(row)}`);
    // On a phone the flow is below what is in sight.
    if (byHand && innerWidth <= 720) main.scrollIntoView({ behavior: "smooth", block: "start" });
  };
  const asked = Number(/^#flow-(\d+)$/.exec(location.hash)?.[1] ?? Number.NaN);
  const first = rowOf.get(asked) ?? rowOf.get(page.flows[0]?.flow ?? Number.NaN) ?? 0;
  const root = document.getElementById("page");
  root?.append(heading(page));
  if (table.size > 1) {
    const list = flowList(page, showFlow);
    root?.append(list.element, main);
    list.mark(first);
  } else root?.append(main);
  if (table.size > 0) showFlow(first, false);
  else main.append(el("p", {}, "There is no TCP in this recording, so there is nothing to say."));
}

/** On paper everything is open, and drawn in the colours for a white ground. */
function forPrint(): void {
  let opened: HTMLDetailsElement[] = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll<HTMLDetailsElement>("details.finding:not([open])")];
    for (const details of opened) details.open = true;
    document.documentElement.classList.add("light");
    redrawAll();
  });
  addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
    document.documentElement.classList.remove("light");
    redrawAll();
  });
}

start();
forPrint();
