// Starts `skiff` or `skiffd` of the package that npm chose for this machine. The program takes the place of this process where
// Node.js can do that (process.execve, Node.js 22.15); otherwise it is a child that gets the signals that this process gets.
"use strict";
const { spawn } = require("node:child_process");
const { isatty } = require("node:tty");

const FORWARDED = ["SIGTERM", "SIGUSR1", "SIGUSR2"];
// A terminal sends these to the child, too: to forward them would send them twice.
const OF_TERMINALS = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGWINCH"];

function programOf(name) {
  const chosen = `skiff-sandbox-${process.platform}-${process.arch}`;
  try {
    return require.resolve(`${chosen}/bin/${name}`);
  } catch {
    console.error(`${name}: the package ${chosen} is not installed: there are packages for Linux on x64 and arm64, and npm must not omit optional ones`);
    process.exit(1);
  }
}

function startChild(program, name, words) {
  const child = spawn(program, words, { argv0: name, stdio: "inherit" });
  for (const signal of FORWARDED) process.on(signal, () => child.kill(signal));
  for (const signal of OF_TERMINALS) process.on(signal, () => isatty(0) || child.kill(signal));
  child.on("error", (error) => {
    console.error(`${name}: ${error.message}`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

module.exports = function start(name) {
  const program = programOf(name);
  const words = process.argv.slice(2);
  if (process.execve) process.execve(program, [name, ...words], process.env);
  startChild(program, name, words);
};
