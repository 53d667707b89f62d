import type { Connection, Credential } from "./connection.js";
import type { SandboxDetails } from "./options.js";

/** What a sandbox is a part of: it removes the sandbox, stops it, and makes links to it. */
export interface Host {
  readonly id: string;
  /** To the agent of the sandbox. */
  readonly connection: Connection;
  readonly sessionId: string;
  /** True if it was made just now, and not found. */
  readonly isNew: boolean;
  /** Header fields that admit requests to applications on ports, and leave Authorization to these. */
  readonly portCredential: Credential;
  details(signal?: AbortSignal): Promise<SandboxDetails>;
  remove(signal?: AbortSignal): Promise<void>;
  extend(ttlMs: number, signal?: AbortSignal): Promise<void>;
  stop(signal?: AbortSignal): Promise<void>;
  preview(port: number, ttlMs: number | undefined, signal?: AbortSignal): Promise<string>;
  /** Ends what this program holds open. */
  close(): void;
}
