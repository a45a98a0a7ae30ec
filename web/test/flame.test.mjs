// Opens a flame graph's SVG file in a browser: what is seen first, zoom, search.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Browser, findBrowser } from "./browser.mjs";

const path = findBrowser();
const skip = path ? false : "needs chromium (set CHROMIUM to where it is)";
const views = new URL("../../crates/views/src/", import.meta.url);
const browser = path ? new Browser(path) : null;
const folder = mkdtempSync(join(tmpdir(), "slowpath-flame-"));

before(async () => {
  // The snapshot of the test `deep_stack_is_drawn`, without the snapshot's header.
  const kept = readFileSync(new URL("snapshots/slowpath_views__flame__tests__deep.snap", views), "utf8");
  const svg = kept.slice(kept.indexOf("<svg")).replace("SCRIPT", () => readFileSync(new URL("flame.js", views), "utf8"));
  const file = join(folder, "flame.svg");
  writeFileSync(file, svg);
  await browser?.open(`file://${file}`);
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A box by its name: where it is, in pixels of the window, and what is written on it. */
const box = (name) =>
  browser.run(`(() => {
    const node = [...document.querySelectorAll("g")].find((one) => one.querySelector("title").textContent.startsWith(${JSON.stringify(`${name}: `)}));
    const { left, right, top, bottom, width } = node.querySelector("rect").getBoundingClientRect();
    const { display, opacity } = node.style;
    return { left, right, top, bottom, width, display, opacity, text: node.querySelector("text")?.textContent ?? "",
      fill: node.querySelector("rect").getAttribute("fill") };
  })()`);
const click = (name) =>
  browser.run(`[...document.querySelectorAll("g")].find((one) => one.querySelector("title").textContent.startsWith(${JSON.stringify(`${name}: `)}))
    .dispatchEvent(new MouseEvent("click", { bubbles: true })), 1`);
const press = (key, ctrlKey) =>
  browser.run(`dispatchEvent(new KeyboardEvent("keydown", { key: "${key}", ctrlKey: ${ctrlKey}, cancelable: true })), 1`);
const search = async (term) => {
  await browser.run(`window.prompt = () => ${JSON.stringify(term)}, 1`);
  await press("f", true);
  return browser.run("document.getElementById('found').textContent");
};

test("a stack of 120 functions opens at its widest box", { skip }, async () => {
  const height = await browser.run("innerHeight");
  const [all, deepest] = [await box("all"), await box("deep_119")];
  assert.ok(all.top >= 0 && all.bottom <= height, `${JSON.stringify(all)} in ${height}`);
  assert.ok(deepest.bottom < 0, "the picture is taller than the window");
});

test("a click zooms in and Escape zooms out", { skip }, async () => {
  const [all, before, aside] = [await box("all"), await box("deep_5"), await box("wide_2")];
  assert.equal(before.text, "");
  await click("deep_5");
  const zoomed = await box("deep_5");
  assert.ok(Math.abs(zoomed.width - all.width) < 1 && zoomed.text === "deep_5", JSON.stringify(zoomed));
  assert.equal((await box("deep_119")).text, "deep_119");
  assert.equal((await box("wide_2")).display, "none");
  const caller = await box("all");
  assert.ok(Math.abs(caller.width - all.width) < 1 && caller.opacity === "0.5", JSON.stringify(caller));
  await press("Escape", false);
  assert.deepEqual((await box("deep_5")).width, before.width);
  assert.equal((await box("deep_5")).text, "");
  assert.equal((await box("wide_2")).width, aside.width);
});

test("a search marks functions and counts what is upon each other once", { skip }, async () => {
  const before = await box("deep_7");
  assert.equal(await search("^deep_"), "^deep_: 1.0 % of what is here");
  assert.notEqual((await box("deep_7")).fill, before.fill);
  assert.equal(await search("wide|<b>"), "wide|<b>: 85.0 % of what is here");
  assert.equal((await box("deep_7")).fill, before.fill);
  assert.equal(await search("deep_("), "deep_(: 0.0 % of what is here", "no regular expression: as it stands");
  const [top, height] = await browser.run("[document.getElementById('found').getBoundingClientRect().top, innerHeight]");
  assert.ok(top >= 0 && top < height, "the answer is in sight");
  assert.equal(await search(""), "");
});
