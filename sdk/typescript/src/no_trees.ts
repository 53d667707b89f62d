import { SkiffError } from "./errors.js";

/** Stands for trees.js in browsers, which have no directories. */
function refused(): never {
  throw new SkiffError("not_supported", "a browser has no local directories: use `write`, `read`, `archive` and `unpack`");
}

export const packer = refused;
export const temporary = refused;
