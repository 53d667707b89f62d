/** The programs `skiff` and `skiffd` as npm installs them with this package. Browsers do not load this module. */

import { createRequire } from "node:module";
import process from "node:process";

/** The package with the programs for this machine, which this package names as an optional dependency. */
const chosen = `skiff-sandbox-${process.platform}-${process.arch}`;

/** Why a program is not installed, as a sentence for people. */
export const isMissing =
  `the package ${chosen} is not installed. There are packages for Linux on x64 and arm64. npm installs them from the ` +
  "registry, unless it omits optional packages; from files, name both: " +
  `npm install skiff-sandbox-VERSION.tgz ${chosen}-VERSION.tgz`;

/** The path of a program, or undefined if its package is not installed. */
export function installedProgram(name: string): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(`${chosen}/bin/${name}`);
  } catch {
    return undefined;
  }
}
