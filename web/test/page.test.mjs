// Opens the page in a browser and uses it.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Browser, findBrowser } from "./browser.mjs";
import { perceived } from "./sight.mjs";
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
/** How many colours a canvas has, and a sum that differs where the drawing does. */
const ink = (selector) =>
  browser.run(`(() => {
    const canvas = document.querySelector(${JSON.stringify(selector)});
    const dots = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    let sum = 0;
    for (const dot of dots) sum = (sum * 31 + dot) % 1e9;
    return { colours: new Set(dots).size, sum };
  })()`);
const figure = (nth) => `figure:nth-of-type(${nth + 1}) canvas`;
const PLOT = figure(1);
const key = async (name, more = {}) => {
  await browser.run(`document.querySelector(${JSON.stringify(PLOT)}).dispatchEvent(
    new KeyboardEvent("keydown", ${JSON.stringify({ key: name, bubbles: true, cancelable: true, ...more })}))`);
  await frame();
};
const all = async () => {
  await browser.run("document.querySelector('.controls button[title=\"Show all\"]').click()");
  await frame();
};
/** The middle of an element, which is brought into sight. */
const place = (selector) =>
  browser.run(`(() => {
    const element = document.querySelector(${JSON.stringify(selector)});
    element.scrollIntoView({ block: "center" });
    const { x, y, width, height } = element.getBoundingClientRect();
    return { x: x + width / 2, y: y + height / 2 };
  })()`);
const dragged = async (from, to, modifiers = 0) => {
  const mouse = (type, { x, y }) =>
    browser.send("Input.dispatchMouseEvent", { type, x, y, button: "left", buttons: 1, clickCount: 1, modifiers });
  await mouse("mousePressed", from);
  await mouse("mouseMoved", to);
  await mouse("mouseReleased", to);
  await frame();
};
/** What a click on a button offers as a file. */
const saved = (button) =>
  browser.run(`new Promise((done) => {
    const click = HTMLAnchorElement.prototype.click;
    const make = URL.createObjectURL;
    let made = null;
    URL.createObjectURL = (blob) => make.call(URL, (made = blob));
    HTMLAnchorElement.prototype.click = function () {
      HTMLAnchorElement.prototype.click = click;
      URL.createObjectURL = make;
      const reader = new FileReader();
      reader.onload = () => done({ name: this.download, data: reader.result.split(",")[1] });
      reader.readAsDataURL(made);
    };
    ${button}.click();
  })`);
const svg = async (selector) => {
  const file = await saved(`document.querySelector(${JSON.stringify(selector)}).closest("figure").querySelector(".save button")`);
  return Buffer.from(file.data, "base64").toString();
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
  assert.match(await browser.run("document.querySelector('article .verdict').textContent"), /90\u00a0%/);
  assert.equal(await browser.run("document.querySelectorAll('.rows .row').length"), 3);
  const heading = await browser.run("document.querySelector('.top').textContent");
  assert.match(heading, /slowpath 0.*recorded 2026-11-29 03:32:25\.123 UTC · pcap, 2 s/);
});

test("every picture is drawn", { skip }, async () => {
  const titles = await browser.run("[...document.querySelectorAll('figure .title')].map((one) => one.textContent)");
  assert.deepEqual(titles, [
    "Throughput", "Time and sequence", "Events", "Data not acknowledged yet, and the receive window",
    "RTT, from the place of recording to the receiver and back", "Queueing on the way to the receiver",
  ]);
  for (const selector of [".bar canvas", ...titles.map((_, nth) => figure(nth))]) {
    assert.ok((await ink(selector)).colours > 3, selector);
  }
  const keys = await browser.run("document.querySelectorAll('figure')[1].querySelector('.legend').textContent");
  assert.match(keys, /retransmission.*out of order.*receive window.*zero window/);
});

test("throughput is what was acknowledged in the time that is shown", { skip }, async () => {
  const note = () => browser.run("document.querySelector('figure .note').textContent");
  // 5,000 segments of 1448 bytes in 2 s.
  assert.match(await note(), /^29 Mbit\/s delivered on average/);
  await browser.run("document.querySelectorAll('.controls button')[2].click()");
  await frame();
  // In the middle one segment comes each 370 µs.
  assert.match(await note(), /^31\.3 Mbit\/s delivered on average/);
  await key("0");
});

test("keys, wheel, drag and buttons move all pictures together", { skip }, async () => {
  const whole = [await ink(PLOT), await ink(figure(4))];
  assert.match(await shown(), /^all 2 s/);
  await key("+");
  assert.match(await shown(), /, 1 s$/);
  assert.notEqual((await ink(PLOT)).sum, whole[0].sum);
  assert.notEqual((await ink(figure(4))).sum, whole[1].sum);
  const before = await shown();
  await key("ArrowRight");
  assert.notEqual(await shown(), before);
  await key("0");
  assert.match(await shown(), /^all 2 s/);
  const box = await place(PLOT);
  await browser.send("Input.dispatchMouseEvent", { type: "mouseWheel", x: box.x, y: box.y, deltaX: 0, deltaY: -200 });
  await frame();
  const zoomed = await shown();
  assert.doesNotMatch(zoomed, /^all/);
  await dragged(box, { x: box.x + 90, y: box.y });
  assert.notEqual(await shown(), zoomed);
  await all();
  assert.match(await shown(), /^all 2 s/);
});

test("a drag with shift, or in box mode, zooms to a box of time and values", { skip }, async () => {
  const whole = await ink(PLOT);
  const box = await place(PLOT);
  await dragged({ x: box.x - 100, y: box.y - 80 }, { x: box.x + 100, y: box.y + 80 }, 8);
  const first = await shown();
  assert.match(first, /^0\.\d+ s to 1\.\d+ s, \d+ ms$/);
  const tall = await ink(PLOT);
  assert.notEqual(tall.sum, whole.sum);
  await all();
  assert.match(await shown(), /^all 2 s/);
  assert.equal((await ink(PLOT)).sum, whole.sum, "values too");
  await browser.run("[...document.querySelectorAll('.drag button')].at(-1).click()");
  await dragged({ x: box.x - 100, y: box.y - 80 }, { x: box.x + 100, y: box.y + 80 });
  assert.equal(await shown(), first);
  await all();
  // A flat box chooses the time alone.
  await dragged({ x: box.x - 100, y: box.y }, { x: box.x + 100, y: box.y + 4 });
  assert.equal(await shown(), first);
  assert.notEqual((await ink(PLOT)).sum, tall.sum);
  await browser.run("document.querySelector('.drag button').click()");
  await all();
});

test("the values of one picture zoom on their axis and with shift and the arrows", { skip }, async () => {
  const [whole, other] = [await ink(PLOT), await ink(figure(4))];
  const axis = { ...(await place(PLOT)), x: 40 };
  await browser.send("Input.dispatchMouseEvent", { type: "mouseWheel", ...axis, deltaX: 0, deltaY: -200 });
  await frame();
  assert.match(await shown(), /^all 2 s/, "not the time");
  const zoomed = await ink(PLOT);
  assert.notEqual(zoomed.sum, whole.sum);
  assert.equal((await ink(figure(4))).sum, other.sum, "not the others");
  await key("ArrowUp", { shiftKey: true });
  assert.notEqual((await ink(PLOT)).sum, zoomed.sum);
  await key("0");
  assert.equal((await ink(PLOT)).sum, whole.sum);
});

test("zooming in stops at a few packets, with labels that differ", { skip }, async () => {
  for (let i = 0; i < 30; i++) await key("+");
  const span = await shown();
  // Segments 200 ns apart.
  assert.match(span, /, 1 µs$/);
  const axis = await svg(PLOT);
  const labels = [...axis.matchAll(/>(\+[^<]* µs)</g)].map((match) => match[1]);
  assert.ok(labels.length > 2 && new Set(labels).size === labels.length, labels.join());
  assert.match(axis, />\d\.\d{3} s</);
  await key("0");
});

test("two fingers zoom", { skip }, async () => {
  const { x, y } = await place(PLOT);
  const touch = async (type, apart) => {
    const touchPoints = apart === null ? [] : [{ x: x - apart, y, id: 1 }, { x: x + apart, y, id: 2 }];
    await browser.send("Input.dispatchTouchEvent", { type, touchPoints });
  };
  await touch("touchStart", 40);
  await touch("touchMove", 80);
  await touch("touchMove", 160);
  await touch("touchEnd", null);
  await frame();
  assert.match(await shown(), /, (4|5|6)\d\d ms$/);
  await key("0");
});

test("queueing on the way is drawn, with its losses, where two recordings show it", { skip }, async () => {
  const text = await browser.run("document.querySelectorAll('figure')[5].textContent");
  assert.match(text, /one-way delay above its least, 20 ms/);
  assert.match(text, /lost on the way: 5,000, the first 2 marked/);
  const whole = await ink(figure(5));
  await key("+");
  assert.notEqual((await ink(figure(5))).sum, whole.sum);
  await key("0");
});

test("what is under the pointer is told, with frame, flags, ack and window", { skip }, async () => {
  const tip = async (selector, dx = 0, dy = 0) => {
    const { x, y } = await place(selector);
    await browser.send("Input.dispatchMouseEvent", { type: "mouseMoved", x: x + dx, y: y + dy });
    await frame();
    return browser.run(`document.querySelector(${JSON.stringify(selector)}).parentElement.querySelector(".tip.shown")?.innerText ?? ""`);
  };
  assert.match(await tip(".bar canvas", 0, -10), /receive window: a small one/);
  for (let i = 0; i < 30; i++) await key("+");
  // One of them is in the middle, between the axes.
  let told = "";
  for (let dy = -200; dy < 200 && !/flags/.test(told); dy += 8) told = await tip(PLOT, 35, dy);
  assert.match(told.replaceAll("\n", " "), /(new data|ACK).*frame [\d,]+.*flags ACK/);
  assert.match(told.replaceAll("\n", " "), /ack [\d,]+.*window 6[\d.]+ KiB/);
  await key("0");
  assert.match(await tip(figure(0)), /delivered\s+31\.\d Mbit\/s/);
  assert.match(await tip(figure(3)), /not acknowledged\s+63\.6 KiB[^]*window\s+64 KiB/);
  assert.match(await tip(figure(4)), /RTT\s+20 ms/);
  const cursors = await browser.run("[...document.querySelectorAll('.cursor')].filter((one) => !one.hidden).length");
  assert.equal(cursors, 6, "a line at that time in all pictures");
});

test("a spell is selected with the mouse and with keys, and leads to what is said of it", { skip }, async () => {
  const { x, y } = await place(".bar canvas");
  await dragged({ x, y: y - 10 }, { x, y: y - 10 });
  const chosen = () => browser.run("document.querySelector('.chosen:not([hidden])')?.innerText ?? ''");
  assert.match(await chosen(), /receive window: a small one.*for 1\.8 s.*What to do/);
  const bar = "document.querySelector('.bar canvas')";
  await browser.run(`${bar}.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft" }))`);
  assert.match(await chosen(), /slow start.*for 200 ms/);
  assert.match(await shown(), /, 2\d\d ms$/);
  await browser.run(`${bar}.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }))`);
  assert.equal(await chosen(), "");
  assert.match(await shown(), /^all 2 s/);
});

test("evidence leads to its place in the picture, and to its packets in both recordings", { skip }, async () => {
  await browser.run("document.querySelector('.finding .link').click()");
  assert.doesNotMatch(await shown(), /^all/);
  await key("0");
  const text = await browser.run("document.querySelector('article').textContent");
  assert.match(text, /in both recordings.*slowpath show other\.pcap --flow 1/);
  assert.match(text, /other recording says by itself.*recorded at the receiver: 95.% of that time.*As the receiver saw it\./);
  await browser.run("document.querySelector('div.finding .link').click()");
  assert.match(await shown(), /^0\.687\d* s to /);
  await key("0");
});

test("a cause is explained in place, as text", { skip }, async () => {
  await browser.run("document.querySelector('.explained summary').click()");
  await frame();
  const page = await browser.run("document.querySelector('.handbook').innerHTML");
  assert.match(page, /^<h5>What it is<\/h5><p>A <em>small<\/em> buffer, <code>rmem<\/code>\. See the page\. &lt;img src=x/);
  assert.match(page, /<ol start="1"><li>Let it <strong>grow<\/strong>\.<\/li><\/ol><pre class="inner"><code>sysctl x<\/code><\/pre>/);
  assert.match(page, /<p class="inner">Carefully\.<\/p><ol start="2"><li>Measure\.<\/li><\/ol>/);
  assert.match(page, /<td>&lt;img.*<pre><code>rate = window \/ RTT/);
  assert.doesNotMatch(page, /<a|<img|javascript/);
});

test("another flow, or one of another page, is drawn over this one", { skip }, async () => {
  const select = "document.querySelector('[aria-label=\"Compare with\"]')";
  const pick = async (value) => {
    await browser.run(`${select}.value = ${JSON.stringify(value)}, ${select}.dispatchEvent(new Event("change"))`);
    await frame();
  };
  const alone = [await ink(figure(0)), await ink(PLOT), await ink(figure(4))];
  await pick("0");
  const both = [await ink(figure(0)), await ink(PLOT), await ink(figure(4))];
  alone.forEach((one, i) => assert.notEqual(both[i].sum, one.sum));
  const keys = (nth) => browser.run(`document.querySelectorAll("figure")[${nth}].querySelector(".legend").textContent`);
  assert.match(await keys(0), /delivered, flow 2$/);
  assert.match(await svg(figure(0)), />delivered, flow 2</);
  await pick("-1");
  assert.equal((await ink(PLOT)).sum, alone[1].sum);
  assert.doesNotMatch(await keys(0), /flow 2/);
  const load = async (text) => {
    const other = join(folder, "other.html");
    writeFileSync(other, text);
    const { root } = await browser.send("DOM.getDocument");
    const { nodeId } = await browser.send("DOM.querySelector", { nodeId: root.nodeId, selector: ".compare input" });
    await browser.send("DOM.setFileInputFiles", { nodeId, files: [other] });
    for (let i = 0; i < 40; i++) await frame();
  };
  await load("<p>no page</p>");
  assert.equal(await browser.run("document.querySelector('.compare .caution').textContent"), "other.html: is no page of slowpath");
  await load(samplePage(4000));
  assert.match(await keys(1), /acknowledged, <img src=x.*, flow 1$/);
  assert.notEqual((await ink(PLOT)).sum, alone[1].sum);
  await pick("-1");
});

test("a picture is saved as SVG and as PNG", { skip }, async () => {
  const text = await svg(PLOT);
  assert.match(text, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" width="\d+" height="\d+"/);
  for (const part of [">Time and sequence<", ">retransmission<", "> MiB<".slice(1), ">zero window<", "&lt;img src=x"]) {
    assert.ok(text.includes(part), part);
  }
  const parsed = await browser.run(`(() => {
    const document = new DOMParser().parseFromString(${JSON.stringify(text)}, "image/svg+xml");
    return [document.querySelectorAll("parsererror").length, document.querySelectorAll("svg svg rect").length];
  })()`);
  assert.equal(parsed[0], 0);
  assert.ok(parsed[1] > 100, String(parsed));
  const png = await saved(`document.querySelector(${JSON.stringify(PLOT)}).closest("figure").querySelectorAll(".save button")[1]`);
  assert.match(png.name, /^img-src-x.*flow-1-sequence\.png$/);
  assert.equal(Buffer.from(png.data, "base64").subarray(1, 4).toString(), "PNG");
  assert.ok(png.data.length > 10_000);
});

test("another flow can be chosen, and one without a picture says so", { skip }, async () => {
  await browser.run("document.querySelectorAll('.rows .row')[2].click()");
  await frame();
  assert.match(await browser.run("document.querySelector('article').textContent"), /No picture of this flow was kept/);
  assert.equal(await browser.run("location.hash"), "#flow-3");
  await browser.run(`document.querySelector(".rows").dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowUp" }))`);
  await frame();
  assert.equal(await browser.run("location.hash"), "#flow-2");
  assert.equal(await browser.run("document.querySelectorAll('figure').length"), 5, "one recording");
  assert.ok((await ink(PLOT)).colours > 3);
});

test("dark is drawn in other colours, and paper in those for light", { skip }, async () => {
  const light = await ink(PLOT);
  await browser.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "dark" }] });
  await frame();
  const dark = await ink(PLOT);
  assert.notEqual(dark.sum, light.sum);
  await browser.run("dispatchEvent(new Event('beforeprint'))");
  assert.equal((await ink(PLOT)).sum, light.sum);
  await browser.run("dispatchEvent(new Event('afterprint'))");
  assert.equal((await ink(PLOT)).sum, dark.sum);
  const { data } = await browser.send("Page.printToPDF", {});
  assert.equal(Buffer.from(data, "base64").subarray(0, 4).toString(), "%PDF");
});

test("a narrow window does not overflow", { skip }, async () => {
  const size = { width: 390, height: 800, deviceScaleFactor: 2, mobile: true };
  await browser.send("Emulation.setDeviceMetricsOverride", size);
  await frame();
  const wide = `[...document.querySelectorAll("body *")].filter((one) => one.getBoundingClientRect().right > 391
    && !one.closest("pre, .tip, .controls")).map((one) => one.tagName + "." + one.className)`;
  assert.deepEqual(await browser.run(wide), []);
  assert.equal(await browser.run("document.querySelector('.rows .row').offsetHeight"), 58, "two lines for each flow");
});

test("hostile names stay text, nothing is fetched, nothing is complained of", { skip }, async () => {
  assert.equal(await browser.run("typeof window.broken"), "undefined");
  assert.equal(await browser.run("document.querySelectorAll('img').length"), 0);
  assert.deepEqual(requests.filter((url) => !/^(file|blob):/.test(url)), []);
  assert.deepEqual(problems, []);
});

test("colours that share a picture differ for those who see few colours", () => {
  const style = readFileSync(new URL("../src/report.css", import.meta.url), "utf8");
  const [light, dark] = style.split("@media (prefers-color-scheme: dark)").slice(0, 2);
  const value = (text, name) => new RegExp(`--${name}: (#[0-9a-f]{6})`).exec(text)?.[1];
  const together = [
    ["label-retransmission", "label-out-of-order", "window", "ack"],
    ["limit-congestion-window", "limit-loss-recovery", "limit-receive-window", "limit-path", "limit-application"],
    ["throughput", "label-new"], ["flight", "window", "zero-window"], ["delay", "delay-mean", "lost"],
  ];
  for (const [scheme, text] of Object.entries({ light, dark })) {
    for (const names of together) {
      for (const sight of ["normal", "protanopia", "deuteranopia", "tritanopia"]) {
        const seen = names.map((name) => perceived(value(text, name) ?? value(light, name), sight));
        names.forEach((one, i) => names.slice(i + 1).forEach((other, j) => {
          const far = Math.hypot(...seen[i].map((part, axis) => part - seen[i + 1 + j][axis]));
          assert.ok(far > 11, `${scheme}, ${sight}: ${one} and ${other} differ by ${far.toFixed(1)}`);
        }));
      }
    }
  }
});

const rows = () => browser.run("[...document.querySelectorAll('.rows .row')].map((one) => one.innerText.split('\\n'))");
const choose = (label, value) => browser.run(`(() => {
  const element = document.querySelector("[aria-label='${label}']");
  element.value = ${JSON.stringify(value)};
  element.dispatchEvent(new Event(element.tagName === "SELECT" ? "change" : "input"));
})()`);

test("100,000 flows are searched, sorted and grouped", { skip }, async () => {
  await browser.send("Emulation.clearDeviceMetricsOverride");
  writeFileSync(page, samplePage(5000, 100_000));
  assert.ok(statSync(page).size < 20_000_000);
  await browser.open(`file://${page}`);
  await frame();
  const ready = await browser.run("performance.getEntriesByType('navigation')[0].loadEventEnd");
  console.log(`        ready in ${ready.toFixed(0)} ms`);
  assert.ok((await browser.run("document.querySelectorAll('.rows .row').length")) < 60, "only those in sight are there");
  const sum = () => browser.run("document.querySelector('.sum').textContent");
  assert.match(await sum(), /^100,000 flows, /);
  assert.match((await rows())[1][2], /^> 99 %/, "exact where it is shown in full");
  assert.equal((await rows())[0][0], "1", "that which lost most");
  await browser.run("document.querySelector('.head .bytes').click()");
  const [first, second] = (await rows()).map((cells) => cells[3]);
  assert.match(first, /^47\.7 MiB$/);
  assert.match(second, /^47\.7 MiB$/);
  await browser.run("document.querySelector('.head .bytes').click()");
  assert.equal((await rows())[0][3], "0 B");
  await choose("Search flows", "192.0.2.17:40016 443");
  assert.match(await sum(), /^\d+ of 100,000 flows, /);
  assert.ok((await rows()).every((cells) => cells[1].startsWith("192.0.2.17:40016") && cells[1].endsWith(":443")));
  await choose("Search flows", "no such flow");
  assert.deepEqual(await rows(), []);
  await choose("Search flows", "");
  await choose("Group by", "service");
  const groups = await rows();
  assert.equal(groups.length, 6, "three hosts with two ports");
  assert.ok(groups.every((cells) => /^[\d,]+ flows$/.test(cells[2])), JSON.stringify(groups[0]));
  await browser.run("document.querySelector('.row.group').click()");
  assert.equal(await browser.run("document.querySelector('.row.group').getAttribute('aria-expanded')"), "true");
  assert.ok((await rows()).length > 10);
  // By keys too: up to the group, which closes.
  const press = (name) => browser.run(`document.querySelector(".rows").dispatchEvent(new KeyboardEvent("keydown", { key: "${name}" }))`);
  await press("Home");
  await press("Enter");
  assert.equal((await rows()).length, 6);
  await press("ArrowDown");
  await press("ArrowRight");
  assert.deepEqual((await rows()).slice(0, 3).map((cells) => cells[0]).slice(0, 2), ["▸", "▾"]);
  await choose("Group by", "none");
  await browser.run("document.querySelector('.head .flow').click()");
  await browser.run("document.querySelector('.rows').scrollTop = 1e9");
  await frame();
  assert.equal((await rows()).at(-1)[0], "100000");
  // One that the page does not have in full.
  await browser.run("[...document.querySelectorAll('.rows .row')].at(-1).click()");
  await frame();
  const article = await browser.run("document.querySelector('article').textContent");
  assert.match(article, /slowpath diagnose a\.pcap --flow 100000 --html flow-100000\.html/);
  assert.deepEqual(problems, []);
});

test("a watched host's connections have no pictures, and time that nothing limited", { skip }, async () => {
  const watched = samplePage(0, 1)
    .replace(/"labels":\[[^\]]*\]/, '"labels":[]')
    .replace('"cause":[0,1],"merged":false', '"cause":[-1,1],"merged":false');
  writeFileSync(page, watched);
  await browser.open(`file://${page}`);
  await frame();
  const text = await browser.run("document.querySelector('article').innerText");
  assert.match(text, /receive window 100 %\s+not limited, or not seen: 200 ms/);
  assert.doesNotMatch(text, /No picture|no data to draw/);
  assert.ok((await ink(".bar canvas")).colours > 3);
  assert.deepEqual(problems, []);
});

test("a thousand flows are a list, and one has none", { skip }, async () => {
  writeFileSync(page, samplePage(300, 1000));
  await browser.open(`file://${page}#flow-900`);
  await frame();
  assert.match(await browser.run("document.querySelector('.sum').textContent"), /^1,000 flows, /);
  assert.equal(await browser.run("document.querySelector('[aria-selected] .flow').textContent"), "900", "that of the link");
  writeFileSync(page, samplePage(300, 1));
  await browser.open(`file://${page}`);
  await frame();
  assert.equal(await browser.run("document.querySelectorAll('nav').length"), 0);
  assert.equal(await browser.run("document.querySelectorAll('article').length"), 1);
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
