// The list of flows: only the rows in sight are elements, so that it can have a hundred thousand.

import type { Page } from "./data.ts";
import { el } from "./dom.ts";
import { bytes, duration, number, percent, rate } from "./quantity.ts";
import { COLUMNS, type Group, type GroupKey, GROUPS, rateOf, type SortKey, Table } from "./table.ts";

/** Rows beyond those in sight that are there already, so that scrolling shows no gaps. */
const SPARE = 8;
/** More flows than this begin as closed groups. */
const MOST_OPEN = 40;

type Item = { row: number } | { group: Group };

const narrow = matchMedia("(max-width: 720px)");

export interface List {
  element: HTMLElement;
  /** Marks the row as chosen, and brings it into sight. */
  mark: (row: number) => void;
}

export function flowList(page: Page, choose: (row: number, byHand: boolean) => void): List {
  const table = new Table(page);
  let key: SortKey = "lost";
  let falls = true;
  let by: GroupKey = "none";
  let chosen = -1;
  /** The group that keys are at; `null` if they are at the chosen row. */
  let at: string | null = null;
  let items: Item[] = [];
  let found = 0;
  const open = new Set<string>();
  const closed = new Set<string>();

  const search = el("input", {
    type: "search", placeholder: "Search: address, port, cause, #number", "aria-label": "Search flows",
    autocomplete: "off", spellcheck: "false",
  });
  const options = (all: [string, string][]): HTMLOptionElement[] =>
    all.map(([value, text]) => el("option", { value }, text));
  const groups = el("select", { "aria-label": "Group by" }, ...options(GROUPS));
  const sorts = el("select", { "aria-label": "Sort by", class: "sorts" }, ...options(COLUMNS.map((one) => [one.key, one.title])));
  const sum = el("span", { class: "sum", role: "status" });
  const heads = COLUMNS.map((column) =>
    el(
      "button",
      { type: "button", class: `cell ${column.key}`, role: "columnheader", onclick: () => sortBy(column.key) },
      column.title,
    ),
  );
  const space = el("div", { class: "space" });
  const body = el("div", { class: "rows", role: "rowgroup", tabindex: "0", "aria-label": "Flows" }, space);
  const grid = el(
    "div",
    { class: "grid", role: "grid", "aria-label": "Flows", "aria-colcount": String(COLUMNS.length) },
    el("div", { class: "row head", role: "row" }, ...heads),
    body,
  );

  const high = (): number => (narrow.matches ? 58 : 30);
  const isOpen = (group: Group): boolean =>
    open.has(group.name) || (found <= MOST_OPEN && !closed.has(group.name));

  const arrange = (): void => {
    const rows = table.rows(search.value, key, falls);
    found = rows.length;
    if (by === "none") {
      items = Array.from(rows, (row) => ({ row }));
    } else {
      items = table.groups(rows, by, key, falls).flatMap((group): Item[] => [
        { group },
        ...(isOpen(group) ? Array.from(group.rows, (row) => ({ row })) : []),
      ]);
    }
    const all = table.together("", rows);
    const of = rows.length === table.size ? "" : ` of ${number(table.size)}`;
    const lost = all.lost > 0 ? `, ${duration(all.lost * 1e3)} lost` : "";
    sum.textContent = `${number(rows.length)}${of} flow${rows.length === 1 && of === "" ? "" : "s"}, ${bytes(all.bytes)}${lost}`;
    heads.forEach((head, place) => {
      const is = COLUMNS[place]?.key === key;
      if (is) head.setAttribute("aria-sort", falls ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    sorts.value = key;
    space.style.height = `${items.length * high()}px`;
    grid.setAttribute("aria-rowcount", String(items.length));
    show();
  };

  const sortBy = (asked: SortKey): void => {
    falls = asked === key ? !falls : (COLUMNS.find((one) => one.key === asked)?.falls ?? true);
    key = asked;
    body.scrollTop = 0;
    arrange();
  };

  const show = (): void => {
    const tall = high();
    const first = Math.max(0, Math.floor(body.scrollTop / tall) - SPARE);
    const last = Math.min(items.length, Math.ceil((body.scrollTop + (body.clientHeight || 400)) / tall) + SPARE);
    const shown: HTMLElement[] = [];
    for (let place = first; place < last; place++) {
      const item = items[place];
      if (!item) continue;
      const element = "row" in item ? rowOf(item.row) : groupOf(item.group);
      element.style.top = `${place * tall}px`;
      element.setAttribute("aria-rowindex", String(place + 1));
      shown.push(element);
    }
    space.replaceChildren(...shown);
  };

  const cell = (name: string, ...content: (Node | string)[]): HTMLElement => {
    const element = el("span", { class: `cell ${name}`, role: "gridcell" });
    element.append(...content);
    return element;
  };
  const numbers = (of: { bytes: number; rate: number; time: number; lost: number; again: number }): HTMLElement[] => [
    cell("bytes", bytes(of.bytes)),
    cell("rate", of.rate > 0 ? rate(of.rate) : "–"),
    cell("time", of.time > 0 ? duration(of.time * 1e3) : "–"),
    cell("lost", of.lost > 0 ? duration(of.lost * 1e3) : "–"),
    cell("again", of.again > 0 ? number(of.again) : "–"),
  ];

  const rowOf = (row: number): HTMLElement => {
    const slug = table.limit(row)?.slug;
    const ends = table.ends(row);
    const cause = table.cause(row);
    const share = table.share(row);
    const key = el("span", { class: "key", style: slug ? `--key:var(--limit-${slug})` : "--key:transparent" });
    const element = el(
      "div",
      { class: "row", role: "row", "data-row": String(row), title: `${ends}\n${cause}`, ...(row === chosen && at === null ? { "aria-selected": "true" } : {}) },
      cell("flow", String(table.flow(row))),
      cell("ends", ends),
      cell("cause", key, slug && share > 0 ? `${percent(share)} ${cause}` : cause),
      ...numbers({
        bytes: table.bytes(row), rate: table.rate(row), time: table.time(row), lost: table.lost(row),
        again: table.again(row),
      }),
    );
    return element;
  };

  const groupOf = (group: Group): HTMLElement =>
    el(
      "div",
      {
        class: "row group", role: "row", "data-group": group.name, "aria-expanded": String(isOpen(group)), title: group.name,
        ...(group.name === at ? { "aria-selected": "true" } : {}),
      },
      cell("flow", isOpen(group) ? "▾" : "▸"),
      cell("ends", group.name),
      cell("cause", `${number(group.rows.length)} flow${group.rows.length === 1 ? "" : "s"}`),
      ...numbers({ ...group, rate: rateOf(group) }),
    );
  const toggle = (name: string): void => {
    const group = items.find((item) => "group" in item && item.group.name === name);
    if (!group || !("group" in group)) return;
    const [now, before] = isOpen(group.group) ? [closed, open] : [open, closed];
    now.add(name);
    before.delete(name);
    arrange();
  };

  const placeOf = (): number =>
    items.findIndex((item) => ("row" in item ? at === null && item.row === chosen : item.group.name === at));
  const reveal = (): void => {
    const place = placeOf();
    if (place < 0) return;
    const [top, tall] = [place * high(), high()];
    if (top < body.scrollTop) body.scrollTop = top;
    else if (top + tall > body.scrollTop + body.clientHeight) body.scrollTop = top + tall - body.clientHeight;
  };
  const take = (item: Item, byHand: boolean): void => {
    if ("row" in item) [chosen, at] = [item.row, null];
    else at = item.group.name;
    reveal();
    show();
    if ("row" in item) choose(item.row, byHand);
  };

  let asked = false;
  body.addEventListener("scroll", () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      show();
    });
  });
  body.addEventListener("click", (event) => {
    const row = (event.target as Element).closest<HTMLElement>(".row");
    if (row?.dataset.row !== undefined) take({ row: Number(row.dataset.row) }, true);
    else if (row?.dataset.group !== undefined) toggle(row.dataset.group);
  });
  body.addEventListener("keydown", (event) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
    const step = steps[event.key];
    if (step !== undefined) {
      const place = placeOf();
      const next = items[Math.max(0, Math.min(items.length - 1, (place < 0 && step > 0 ? -1 : place) + step))];
      if (next) take(next, false);
    } else if (at !== null && ["Enter", " ", "ArrowLeft", "ArrowRight"].includes(event.key)) toggle(at);
    else return;
    event.preventDefault();
  });
  search.addEventListener("input", () => {
    body.scrollTop = 0;
    arrange();
  });
  groups.addEventListener("change", () => {
    by = groups.value as GroupKey;
    body.scrollTop = 0;
    arrange();
  });
  sorts.addEventListener("change", () => {
    key = "flow";
    falls = false;
    if (sorts.value !== "flow") sortBy(sorts.value as SortKey);
    else arrange();
  });
  narrow.addEventListener("change", arrange);
  new ResizeObserver(show).observe(body);
  arrange();

  return {
    element: el(
      "nav",
      { "aria-label": "Flows" },
      el("div", { class: "tools" }, search, el("label", {}, "group by ", groups), el("label", { class: "sorts" }, "sort by ", sorts), sum),
      grid,
    ),
    mark: (row) => {
      [chosen, at] = [row, null];
      reveal();
      show();
    },
  };
}
