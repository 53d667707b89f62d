import { startsNone } from "./options.js";

/** Stands for launcher.js in browsers, which start no programs. */
async function refused(): Promise<never> {
  throw startsNone();
}

export const createWithSkiff = refused;
export const connectWithSkiff = refused;
export const listWithSkiff = refused;
