// `node build.mjs DIRECTORY`: checks the types, and writes index.html, console.js and console.css there.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import process from "node:process";

import { build } from "esbuild";

const [directory] = process.argv.slice(2);
execFileSync(process.execPath, ["node_modules/typescript/bin/tsc"], { stdio: "inherit" });
const common = { bundle: true, minify: true, charset: "utf8", legalComments: "none", logLevel: "warning" };
await build({ ...common, entryPoints: ["src/console.tsx"], outfile: path.join(directory, "console.js"), format: "esm", target: "es2022" });
await build({ ...common, entryPoints: ["src/style.css"], outfile: path.join(directory, "console.css") });
fs.copyFileSync("index.html", path.join(directory, "index.html"));
