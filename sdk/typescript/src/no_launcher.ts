import { SkiffError } from "./errors.js";

/** Stands for launcher.js in browsers, which start no programs. */
async function refused(): Promise<never> {
  throw new SkiffError(
    "not_configured",
    "a browser cannot start the program skiff: give `url` with `token` or `apiKey`",
  );
}

export const createWithSkiff = refused;
export const connectWithSkiff = refused;
export const listWithSkiff = refused;
