// Another flow next to the one that is shown: of this page, or of another page of slowpath, such as the other end or
// a run before a change. Both are drawn from their first packets on.

import { type Flow, type Page, type Picture, readPage, unpack } from "./data.ts";
import { el } from "./dom.ts";
import type { View } from "./view.ts";

/** A flow to compare with. */
export interface Other {
  /** What it is called in legends. */
  name: string;
  picture: Picture;
  /** What is added to its times, so that its first packet is at that of the flow shown. */
  shift: number;
}

/** More flows than this are not offered one by one. */
const MOST_OFFERED = 200;

export class Comparison {
  other: Other | null = null;

  constructor(
    private readonly flow: Flow,
    private readonly view: View,
  ) {}

  /** The chosen flow's picture and shift, if there is one. */
  choose(flow: Flow | null, name: string): void {
    this.other =
      flow?.picture ? { name, picture: unpack(flow.picture), shift: this.flow.first_ns - flow.first_ns } : null;
    this.view.changed();
  }
}

/** Offers the other flows of the page, and those of another page. */
export function compareWith(page: Page, flow: Flow, comparison: Comparison): HTMLElement {
  const drawn = page.flows.filter((other) => other !== flow && other.picture !== null).slice(0, MOST_OFFERED);
  let all: { flow: Flow; name: string }[] = drawn.map((other) => ({ flow: other, name: `flow ${other.flow}` }));
  const select = el("select", { "aria-label": "Compare with" });
  const problem = el("span", { class: "caution", role: "status" });
  const fill = (chosen: number): void => {
    select.replaceChildren(
      el("option", { value: "-1" }, "nothing"),
      ...all.map(({ name, flow: other }, place) => el("option", { value: String(place) }, `${name}: ${other.ends}`)),
      el("option", { value: "file" }, "another page …"),
    );
    select.value = String(chosen);
  };
  const choose = (place: number): void => {
    const other = all[place];
    comparison.choose(other?.flow ?? null, other?.name ?? "");
  };
  const file = el("input", { type: "file", accept: ".html,text/html", hidden: "", "aria-label": "Another page" });
  file.addEventListener("change", async () => {
    const [chosen] = file.files ?? [];
    if (!chosen) return;
    // So that it can be chosen again, when it was written anew.
    file.value = "";
    try {
      const found = flowsOf(await chosen.text());
      const first = all.length;
      all = all.concat(found);
      fill(first);
      choose(first);
      problem.textContent = "";
    } catch (error) {
      problem.textContent = `${chosen.name}: ${error instanceof Error ? error.message : "cannot be read"}`;
      fill(-1);
    }
  });
  select.addEventListener("change", () => {
    if (select.value === "file") file.click();
    else choose(Number(select.value));
  });
  fill(-1);
  return el("label", { class: "compare" }, "compare with ", select, file, problem);
}

/** The flows with pictures in the text of a page of slowpath. */
function flowsOf(text: string): { flow: Flow; name: string }[] {
  // Parsed, not shown: nothing of it runs.
  const data = new DOMParser().parseFromString(text, "text/html").getElementById("data")?.textContent;
  if (!data) throw new Error("is no page of slowpath");
  const page = readPage(data);
  const flows = page.flows.filter((flow) => flow.picture !== null).slice(0, MOST_OFFERED);
  if (flows.length === 0) throw new Error("has no pictures");
  return flows.map((flow) => ({ flow, name: `${page.title}, flow ${flow.flow}` }));
}
