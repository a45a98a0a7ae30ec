// Drives a headless Chromium over its debugging pipe, without any package.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The browser to use, or null where there is none. */
export function findBrowser() {
  const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
  const folders = (process.env.PATH ?? "").split(":");
  const all = [process.env.CHROMIUM, ...names.flatMap((name) => folders.map((folder) => join(folder, name)))];
  return all.find((path) => path && existsSync(path)) ?? null;
}

export class Browser {
  #process;
  #profile;
  #next = 1;
  #waiting = new Map();
  #rest = "";
  #listeners = [];
  session = null;

  constructor(path) {
    this.#profile = mkdtempSync(join(tmpdir(), "slowpath-page-"));
    const options = [
      "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
      "--no-first-run", "--disable-background-networking", `--user-data-dir=${this.#profile}`, "about:blank",
    ];
    this.#process = spawn(path, options, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    this.#process.stdio[4].setEncoding("utf8");
    this.#process.stdio[4].on("data", (text) => this.#read(text));
  }

  #read(text) {
    const messages = (this.#rest + text).split("\0");
    this.#rest = messages.pop();
    for (const message of messages.map((one) => JSON.parse(one))) {
      const waiting = this.#waiting.get(message.id);
      if (waiting) {
        this.#waiting.delete(message.id);
        if (message.error) waiting.reject(new Error(JSON.stringify(message.error)));
        else waiting.resolve(message.result);
      } else for (const listener of this.#listeners) listener(message.method, message.params);
    }
  }

  on(listener) {
    this.#listeners.push(listener);
  }

  send(method, params = {}) {
    const id = this.#next++;
    const message = { id, method, params, ...(this.session ? { sessionId: this.session } : {}) };
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#process.stdio[3].write(`${JSON.stringify(message)}\0`);
    });
  }

  async open(url) {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    this.session = sessionId;
    for (const domain of ["Page", "Runtime", "Network", "Log"]) await this.send(`${domain}.enable`);
    const loaded = new Promise((resolve) => this.on((method) => method === "Page.loadEventFired" && resolve()));
    await this.send("Page.navigate", { url });
    await loaded;
  }

  async run(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", {
      expression, returnByValue: true, awaitPromise: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  close() {
    const ended = new Promise((resolve) => this.#process.on("exit", resolve));
    this.#process.kill();
    // On a busy machine, its other processes end seconds later.
    const how = { recursive: true, force: true, maxRetries: 20, retryDelay: 200 };
    return ended.then(() => rmSync(this.#profile, how));
  }
}
