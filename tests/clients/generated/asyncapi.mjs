// The AsyncAPI document, read by the parser of the AsyncAPI initiative: `asyncapi.mjs NODE_MODULES DOCUMENT`. Anything that it
// remarks on is printed; else the operations of /v1/connect.
import fs from "node:fs";
import { createRequire } from "node:module";

const [, , modules, file] = process.argv;
const { Parser } = createRequire(`${modules}/`)("@asyncapi/parser");
const { document, diagnostics } = await new Parser().parse(fs.readFileSync(file, "utf8"));
// That the document could be of a newer version of AsyncAPI isn't about the document.
const remarks = diagnostics.filter((one) => one.code !== "asyncapi-latest-version");
for (const one of remarks) console.log(one.severity, one.code, one.message, one.path.join("."));
if (remarks.length || !document) process.exit(1);
console.log(document.channels().get("connect").operations().all().map((one) => one.id()).join(" "));
