/**
 * Starts `skiff` or `skiffd` with the words of this process. The program takes the place of this process where Node.js can
 * do that (process.execve, Node.js 22.15); otherwise it is a child that gets the signals that this process gets.
 */

import { spawn } from "node:child_process";
import process from "node:process";
import { isatty } from "node:tty";
import { installedProgram, isMissing } from "./programs.js";

const FORWARDED: NodeJS.Signals[] = ["SIGTERM", "SIGUSR1", "SIGUSR2"];
// A terminal sends these to the child, too: to forward them would send them twice.
const OF_TERMINALS: NodeJS.Signals[] = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGWINCH"];

export function start(name: string): void {
  const program = installedProgram(name);
  if (!program) fail(name, isMissing);
  const words = process.argv.slice(2);
  process.execve?.(program, [name, ...words], process.env);
  startChild(program, name, words);
}

function startChild(program: string, name: string, words: string[]): void {
  // Before the child is there: a signal that comes meanwhile would end this process and leave the child. They run later, when it is.
  for (const signal of FORWARDED) process.on(signal, () => child.kill(signal));
  for (const signal of OF_TERMINALS) process.on(signal, () => isatty(0) || child.kill(signal));
  const child = spawn(program, words, { argv0: name, stdio: "inherit" });
  child.on("error", (error) => fail(name, error.message));
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

function fail(name: string, why: string): never {
  console.error(`${name}: ${why}`);
  process.exit(1);
}
