// Builds src/ into crates/views/assets, which is checked in so that cargo alone builds slowpath.
// With --check, says whether what is checked in is what this would build.
import { build } from "esbuild";
import { readFile, writeFile } from "node:fs/promises";

const assets = new URL("../crates/views/assets/", import.meta.url);
const result = await build({
  entryPoints: { report: new URL("src/main.ts", import.meta.url).pathname },
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  write: false,
});
const style = await build({
  entryPoints: [new URL("src/report.css", import.meta.url).pathname],
  minify: true,
  charset: "utf8",
  write: false,
});
const built = {
  "report.js": result.outputFiles[0].text,
  "report.css": style.outputFiles[0].text,
  "report.html": await readFile(new URL("src/report.html", import.meta.url), "utf8"),
};
let stale = [];
for (const [name, text] of Object.entries(built)) {
  const path = new URL(name, assets);
  if (process.argv.includes("--check")) {
    const found = await readFile(path, "utf8").catch(() => "");
    if (found !== text) stale.push(name);
  } else {
    await writeFile(path, text);
    console.log(`${name}: ${Buffer.byteLength(text)} bytes`);
  }
}
if (stale.length > 0) {
  console.error(`crates/views/assets/${stale.join(", ")}: not what web/src builds; run \`npm run build\` in web/`);
  process.exit(1);
}
