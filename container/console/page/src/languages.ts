import { defineLanguageFacet, Language, languageDataProp, StreamLanguage, type StreamParser } from "@codemirror/language";
import { c, cpp, java } from "@codemirror/legacy-modes/mode/clike";
import { cmake } from "@codemirror/legacy-modes/mode/cmake";
import { css } from "@codemirror/legacy-modes/mode/css";
import { diff } from "@codemirror/legacy-modes/mode/diff";
import { dockerFile } from "@codemirror/legacy-modes/mode/dockerfile";
import { go } from "@codemirror/legacy-modes/mode/go";
import { javascript, json, typescript } from "@codemirror/legacy-modes/mode/javascript";
import { properties } from "@codemirror/legacy-modes/mode/properties";
import { python } from "@codemirror/legacy-modes/mode/python";
import { rust } from "@codemirror/legacy-modes/mode/rust";
import { shell } from "@codemirror/legacy-modes/mode/shell";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { html, xml } from "@codemirror/legacy-modes/mode/xml";
import { yaml } from "@codemirror/legacy-modes/mode/yaml";
import { GFM, parseCode, parser } from "@lezer/markdown";

const MODES: Record<string, StreamParser<unknown>> = {
  c, cpp, java, cmake, css, diff, dockerFile, go, javascript, json, typescript, properties, python, rust, shell, toml, html, xml, yaml,
} as Record<string, StreamParser<unknown>>;

/** Names of modes by the ends of file names, the words behind the three backticks of Markdown, and the names of interpreters. */
const MODE_OF: Record<string, string> = {
  c: "c", h: "cpp", cc: "cpp", cpp: "cpp", cxx: "cpp", hh: "cpp", hpp: "cpp", hxx: "cpp", java: "java",
  cmake: "cmake", css: "css", diff: "diff", patch: "diff", dockerfile: "dockerFile", containerfile: "dockerFile", go: "go",
  js: "javascript", cjs: "javascript", mjs: "javascript", jsx: "javascript", javascript: "javascript", node: "javascript",
  ts: "typescript", cts: "typescript", mts: "typescript", tsx: "typescript", typescript: "typescript", json: "json", jsonl: "json",
  ini: "properties", cfg: "properties", conf: "properties", env: "properties", properties: "properties",
  py: "python", pyi: "python", python: "python", python3: "python", rs: "rust", rust: "rust",
  sh: "shell", bash: "shell", zsh: "shell", shell: "shell", dash: "shell", profile: "shell", bashrc: "shell", bash_profile: "shell",
  toml: "toml", html: "html", htm: "html", vue: "html", svg: "xml", xml: "xml", yaml: "yaml", yml: "yaml",
};
const NAMES: Record<string, string> = { "cmakelists.txt": "cmake", "cargo.lock": "toml", "poetry.lock": "toml", gitconfig: "properties" };

const made = new Map<string, Language>();

function modeCalled(name: string): Language | undefined {
  const mode = Object.hasOwn(MODE_OF, name) ? MODE_OF[name] : undefined;
  const parsed = mode && MODES[mode];
  if (!parsed) return undefined;
  const language = made.get(mode) ?? StreamLanguage.define(parsed);
  made.set(mode, language);
  return language;
}

const markdownData = defineLanguageFacet({ commentTokens: { block: { open: "<!--", close: "-->" } } });
const markdown = new Language(
  markdownData,
  parser.configure([
    GFM,
    parseCode({ codeParser: (info) => modeCalled(info.split(/\s/)[0]?.toLowerCase() ?? "")?.parser ?? null }),
    { props: [languageDataProp.add({ Document: markdownData })] },
  ]),
  [],
  "markdown",
);

/** The language of a file by its name, or by an interpreter in its first line. */
export function languageOf(name: string, text: string): Language | undefined {
  const whole = name.toLowerCase().replace(/^\./, "");
  const end = whole.slice(whole.lastIndexOf(".") + 1);
  if (end === "md" || end === "markdown") return markdown;
  const called = modeCalled(Object.hasOwn(NAMES, whole) ? (NAMES[whole] ?? "") : end);
  if (called) return called;
  const words = /^#!(.*)/.exec(text.slice(0, 200))?.[1]?.trim().split(/\s+/) ?? [];
  const program = words.map((word) => word.slice(word.lastIndexOf("/") + 1)).find((word) => word !== "env" && !word.startsWith("-"));
  return modeCalled(program?.replace(/[\d.]+$/, "") ?? "");
}
