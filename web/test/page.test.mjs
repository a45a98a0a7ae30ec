// Opens the page in a browser and uses it.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Browser, findBrowser } from "./browser.mjs";
import { samplePage } from "./sample.mjs";

const path = findBrowser();
// Named and counted where it cannot run.
const skip = path ? false : "needs chromium (set CHROMIUM to where it is)";

test("the page's data cannot end its element", () => {
  const scripts = samplePage(10).split("</script>").length - 1;
  assert.equal(scripts, 2);
});

test("the lock file names no host", () => {
  const lock = readFileSync(new URL("../package-lock.json", import.meta.url), "utf8");
  assert.doesNotMatch(lock, /"resolved"/);
});

const folder = mkdtempSync(join(tmpdir(), "slowpath-page-"));
const browser = path ? new Browser(path) : null;
const problems = [];
const requests = [];
browser?.on((method, params) => {
  if (method === "Runtime.exceptionThrown") problems.push(params.exceptionDetails.exception?.description ?? "exception");
  if (method === "Runtime.consoleAPICalled" && params.type === "error") problems.push(JSON.stringify(params.args));
  if (method === "Log.entryAdded" && params.entry.level === "error") problems.push(params.entry.text);
  if (method === "Network.requestWillBeSent") requests.push(params.request.url);
});
const frame = () => browser.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))");
const shown = () => browser.run("document.querySelector('.shown-span').textContent");
/** How many dots of a canvas are drawn on, and a sum that differs where the drawing does. */
const ink = (selector) =>
  browser.run(`(() => {
    const canvas = document.querySelector(${JSON.stringify(selector)});
    const dots = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    let [drawn, sum] = [0, 0];
    for (let i = 3; i < dots.length; i += 4) if (dots[i] > 0) { drawn++; sum = (sum * 31 + dots[i - 3] + i) % 1e9; }
    return { drawn, sum };
  })()`);
const PLOT = ".plot canvas";
const key = async (name) => {
  await browser.run(`document.querySelector(${JSON.stringify(PLOT)}).dispatchEvent(
    new KeyboardEvent("keydown", { key: ${JSON.stringify(name)}, bubbles: true, cancelable: true }))`);
  await frame();
};

const page = join(folder, "report.html");

before(async () => {
  writeFileSync(page, samplePage(5000));
  await browser?.open(`file://${page}`);
  if (browser) await frame();
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

test("the slowest flow is shown with its verdict", { skip }, async () => {
  assert.match(await browser.run("document.querySelector('h2 ~ .verdict, article .verdict').textContent"), /90 %/);
  assert.equal(await browser.run("document.querySelectorAll('.entry').length"), 3);
});

test("every picture is drawn", { skip }, async () => {
  const number = await browser.run("document.querySelectorAll('article canvas').length");
  assert.equal(number, 5);
  for (const selector of [".bar canvas", PLOT, ...[1, 2, 3].map((nth) => `figure:nth-of-type(${nth}) canvas`)]) {
    assert.ok((await ink(selector)).drawn > 500, selector);
  }
});

test("keys, wheel, drag and buttons move the view", { skip }, async () => {
  const whole = await ink(PLOT);
  assert.match(await shown(), /^all 2 s/);
  await key("+");
  assert.match(await shown(), /, 1 s$/);
  assert.notEqual((await ink(PLOT)).sum, whole.sum);
  const before = await shown();
  await key("ArrowRight");
  assert.notEqual(await shown(), before);
  await key("0");
  assert.match(await shown(), /^all 2 s/);
  const box = await browser.run(`(() => {
    document.querySelector(${JSON.stringify(PLOT)}).scrollIntoView();
    const { x, y, width, height } = document.querySelector(${JSON.stringify(PLOT)}).getBoundingClientRect();
    return { x: x + width / 2, y: y + height / 2 };
  })()`);
  await browser.send("Input.dispatchMouseEvent", { type: "mouseWheel", ...box, deltaX: 0, deltaY: -200 });
  await frame();
  const zoomed = await shown();
  assert.doesNotMatch(zoomed, /^all/);
  const mouse = (type, x) =>
    browser.send("Input.dispatchMouseEvent", { type, x, y: box.y, button: "left", buttons: 1, clickCount: 1 });
  await mouse("mousePressed", box.x);
  await mouse("mouseMoved", box.x + 90);
  await mouse("mouseReleased", box.x + 90);
  await frame();
  assert.notEqual(await shown(), zoomed);
  await browser.run("[...document.querySelectorAll('.controls button')].at(-1).click()");
  assert.match(await shown(), /^all 2 s/);
});

test("queueing on the way is drawn, with its losses, where two recordings show it", { skip }, async () => {
  const text = await browser.run("document.querySelector('figure').textContent");
  assert.match(text, /one-way delay above its least, 20 ms/);
  assert.match(text, /lost on the way: 5,000, the first 2 marked/);
  const whole = await ink("figure canvas");
  assert.ok(whole.drawn > 500);
  await key("+");
  assert.notEqual((await ink("figure canvas")).sum, whole.sum);
  await key("0");
});

test("what is under the pointer is told", { skip }, async () => {
  const place = await browser.run(`(() => {
    document.querySelector(".bar canvas").scrollIntoView({ block: "center" });
    const { x, y, width } = document.querySelector(".bar canvas").getBoundingClientRect();
    return { x: x + width / 2, y: y + 12 };
  })()`);
  await browser.send("Input.dispatchMouseEvent", { type: "mouseMoved", ...place });
  await frame();
  assert.match(await browser.run("document.querySelector('.bar .tip').textContent"), /receive window: a small one/);
});

test("evidence leads to its place in the picture", { skip }, async () => {
  await browser.run("document.querySelector('.finding .link').click()");
  assert.doesNotMatch(await shown(), /^all/);
});

test("another flow can be chosen, and one without a picture says so", { skip }, async () => {
  await browser.run("document.querySelectorAll('.entry')[2].click()");
  await frame();
  assert.match(await browser.run("document.querySelector('article').textContent"), /No picture of this flow was kept/);
  assert.equal(await browser.run("location.hash"), "#flow-3");
  await browser.run("document.querySelectorAll('.entry')[1].click()");
  await frame();
  assert.equal(await browser.run("document.querySelectorAll('article canvas').length"), 4, "one recording");
  assert.ok((await ink(PLOT)).drawn > 500);
});

test("dark is drawn in other colours", { skip }, async () => {
  const light = await ink(PLOT);
  await browser.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "dark" }] });
  await frame();
  assert.notEqual((await ink(PLOT)).sum, light.sum);
});

test("a narrow window does not overflow", { skip }, async () => {
  const size = { width: 420, height: 800, deviceScaleFactor: 2, mobile: true };
  await browser.send("Emulation.setDeviceMetricsOverride", size);
  await frame();
  const wide = `[...document.querySelectorAll("body *")].filter((one) => one.getBoundingClientRect().right > 421
    && !one.closest("pre, .tip")).map((one) => one.tagName + "." + one.className)`;
  assert.deepEqual(await browser.run(wide), []);
});

test("hostile names stay text, nothing is fetched, nothing is complained of", { skip }, async () => {
  assert.equal(await browser.run("typeof window.broken"), "undefined");
  assert.equal(await browser.run("document.querySelectorAll('img').length"), 0);
  assert.deepEqual(requests.filter((url) => !url.startsWith("file://")), []);
  assert.deepEqual(problems, []);
});

// Of the page's own thread, as much as it runs: the machine may do much else meanwhile.
const cpuTime = async () => {
  const { metrics } = await browser.send("Performance.getMetrics");
  return 1000 * metrics.find(({ name }) => name === "TaskDuration").value;
};

test("60,000 segments are drawn in time", { skip }, async () => {
  writeFileSync(page, samplePage(60_000));
  await browser.open(`file://${page}`);
  await frame();
  await browser.send("Performance.enable", { timeDomain: "threadTicks" });
  const begun = await cpuTime();
  await browser.run(`(async () => {
    for (let i = 0; i < 10; i++) {
      document.querySelector(${JSON.stringify(PLOT)}).dispatchEvent(new KeyboardEvent("keydown", { key: i % 2 ? "-" : "+" }));
      await new Promise((done) => requestAnimationFrame(() => done(1)));
    }
  })()`);
  const time = ((await cpuTime()) - begun) / 10;
  console.log(`        ${time.toFixed(0)} ms a frame`);
  assert.ok(time > 0 && time < 250, `${time} ms a frame`);
});
