// A page of the handbook, which is Markdown, as elements. Its text only ever becomes text nodes.

import { el } from "./dom.ts";

/** `code`, **strong**, *emphasis*, and links, of which the words are left: there is no other page to go to. */
const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|\[([^\]]+)\]\([^)]*\)/g;

function inline(text: string): (Node | string)[] {
  const parts: (Node | string)[] = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    parts.push(text.slice(end, match.index));
    const [all, code, strong, emphasis, link] = match;
    if (code !== undefined) parts.push(el("code", {}, code));
    else if (strong !== undefined) parts.push(el("strong", {}, ...inline(strong)));
    else if (emphasis !== undefined) parts.push(el("em", {}, ...inline(emphasis)));
    else parts.push(...inline(link ?? ""));
    end = match.index + all.length;
  }
  parts.push(text.slice(end));
  return parts;
}

/** Written so that the page's own text has no comment's beginning, which a browser would take for one. */
const COMMENT = /^<!-{2}/;
const FENCE = /^ {0,3}```/;
const ITEM = /^(?:[-*]|(\d+)\.) +/;

/** The page without its title and its cause's name, which stand above it. */
export function handbook(markdown: string): HTMLElement {
  const lines = markdown.split("\n");
  const root = el("div", { class: "handbook" });
  let at = 0;
  const more = (): string | undefined => lines[at];
  const take = (belongs: (line: string) => boolean): string[] => {
    const start = at;
    while (more() !== undefined && belongs(more() as string)) at++;
    return lines.slice(start, at);
  };
  while (more() !== undefined) {
    const line = more() as string;
    if (line.trim() === "" || line.startsWith("# ") || COMMENT.test(line) || /^`[a-z-]+\/[a-z-]+`$/.test(line)) {
      at++;
    } else if (line.startsWith("#")) {
      root.append(el("h5", {}, ...inline(line.replace(/^#+ */, ""))));
      at++;
    } else if (FENCE.test(line)) {
      at++;
      const indent = line.length - line.trimStart().length;
      const code = take((one) => !FENCE.test(one)).map((one) => one.slice(indent));
      root.append(el("pre", inner(line), el("code", {}, code.join("\n"))));
      at++;
    } else if (line.startsWith("    ")) {
      const code = take((one) => one.startsWith("    ")).map((one) => one.slice(4));
      root.append(el("pre", {}, el("code", {}, code.join("\n"))));
    } else if (line.startsWith("|")) {
      root.append(table(take((one) => one.startsWith("|"))));
    } else if (ITEM.test(line)) {
      const items: string[] = [];
      for (const one of take((one) => ITEM.test(one) || (/^ {2,}\S/.test(one) && !FENCE.test(one)))) {
        if (ITEM.test(one)) items.push(one.replace(ITEM, ""));
        else items.push(`${items.pop() ?? ""} ${one.trim()}`);
      }
      // A list that goes on after a block keeps its numbers.
      const first = ITEM.exec(line)?.[1];
      const list = first === undefined ? el("ul") : el("ol", { start: first });
      list.append(...items.map((item) => el("li", {}, ...inline(item))));
      root.append(list);
    } else {
      const text = take((one) => one.trim() !== "" && !/^(#|\|)/.test(one) && !FENCE.test(one) && !COMMENT.test(one) && !ITEM.test(one));
      root.append(el("p", inner(line), ...inline(text.map((one) => one.trim()).join(" "))));
    }
  }
  return root;
}

/** A block that belongs to the item of a list before it. */
function inner(line: string): { class?: string } {
  return line.startsWith(" ") ? { class: "inner" } : {};
}

function table(lines: string[]): HTMLElement {
  const cells = (line: string): string[] => line.replace(/^\|/, "").replace(/\|\s*$/, "").split("|").map((one) => one.trim());
  const [head, ...rows] = lines.filter((line) => !/^\|[\s|:-]+$/.test(line)).map(cells);
  const row = (tag: "th" | "td", all: string[]): HTMLElement => el("tr", {}, ...all.map((one) => el(tag, {}, ...inline(one))));
  return el(
    "div",
    { class: "wide" },
    el("table", {}, el("thead", {}, row("th", head ?? [])), el("tbody", {}, ...rows.map((one) => row("td", one)))),
  );
}
