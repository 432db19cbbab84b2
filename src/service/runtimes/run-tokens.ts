/**
 * The tokens with which agents use the tools of their runs at the MCP endpoint. Each process of an agent gets its own. Tokens exist only
 * in memory, and are revoked when the run or the process ends, so none is valid after a restart of the service.
 */
import { randomUUID } from 'node:crypto';
import { ServiceError } from '../errors.ts';
import type { ProgramEndpoint } from '../sandbox/launch.ts';
import { newSecret, secretHash } from '../secret-hash.ts';
import type { RunHost } from './run-host.ts';

/** What replaces a token in texts that are recorded. */
const secretName = 'RUN_TOKEN';

export class RunTokens {
  readonly #tokens = new Map<string, RunToken>();
  #url: string | undefined;

  /** Specifies the URL of the MCP endpoint on this machine, which is known when the service listens. */
  open(url: string): void {
    this.#url = url;
  }

  /** A token for a new process of the agent, which can act on its run immediately. */
  issue(host: RunHost): RunToken {
    const secret = newSecret('run');
    const hash = secretHash(secret);
    const endpoint = this.#url === undefined ? undefined : { url: this.#url, authorization: `Bearer ${secret}` };
    const secrets = new Map([[secretName, secret]]);
    const token = new RunToken({ host, hash, endpoint, secrets, onRevoke: () => this.#tokens.delete(hash) });
    this.#tokens.set(hash, token);
    return token;
  }

  /** The token with this hash, unless it was revoked. */
  find(hash: string): RunToken | undefined {
    return this.#tokens.get(hash);
  }
}

interface TokenParts {
  host: RunHost;
  hash: string;
  endpoint: ProgramEndpoint | undefined;
  secrets: ReadonlyMap<string, string>;
  onRevoke: () => void;
}

export class RunToken {
  readonly run: RunHost['run'];
  /** Whether the run works on a case. */
  readonly hasCase: boolean;
  readonly hash: string;
  /** The MCP endpoint, with the secret; undefined in a process that does not listen. */
  readonly endpoint: ProgramEndpoint | undefined;
  /** The secret by its name, for whoever must not record it. */
  readonly secrets: ReadonlyMap<string, string>;
  /** Identifies the process of the agent in the journal. */
  readonly process = randomUUID().slice(0, 8);
  readonly #onRevoke: () => void;
  readonly #revocation = new AbortController();
  #host: RunHost | undefined;
  #lastUse: Promise<unknown> = Promise.resolve();

  constructor({ host, hash, endpoint, secrets, onRevoke }: TokenParts) {
    this.run = host.run;
    this.hasCase = host.case !== undefined;
    this.hash = hash;
    this.endpoint = endpoint;
    this.secrets = secrets;
    this.#onRevoke = onRevoke;
    this.attach(host);
  }

  /** Aborted when the token is revoked. */
  get signal(): AbortSignal {
    return this.#revocation.signal;
  }

  /** Lets the agent act on its run again. Has no effect on a token that was revoked. */
  attach(host: RunHost): void {
    if (this.signal.aborted) return;
    this.#host = host;
    // Before the process has ended, because it may ignore that the run was stopped.
    const revoke = (): void => {
      if (this.#host === host) this.revoke();
    };
    host.signal.addEventListener('abort', revoke, { once: true, signal: this.signal });
    if (host.signal.aborted) revoke();
  }

  /** The run is no longer executed, for example because it waits for a person. */
  detach(): void {
    this.#host = undefined;
  }

  revoke(): void {
    this.detach();
    this.#onRevoke();
    this.#revocation.abort();
  }

  /**
   * Does something for the agent, after everything that it requested before. Throws ServiceError 409 `run_waiting` while the run waits for
   * a person, and 409 `run_ended`.
   */
  use<T>(work: (host: RunHost) => Promise<T>): Promise<T> {
    const use = this.#lastUse.then(() => this.#useNow(work));
    this.#lastUse = use.catch(() => undefined);
    return use;
  }

  async #useNow<T>(work: (host: RunHost) => Promise<T>): Promise<T> {
    const host = this.#host;
    if (host === undefined) throw this.#refusal();
    try {
      return await work(host);
    } catch (error) {
      // A host that the run has left cannot write any more.
      if (host.signal.aborted) throw runEnded();
      if (this.#host !== host) throw this.#refusal();
      throw error;
    }
  }

  #refusal(): ServiceError {
    if (this.signal.aborted) return runEnded();
    return new ServiceError(409, 'run_waiting', 'The run is waiting, so its tools cannot be used. Call the tool again when it continues.');
  }
}

export const runEnded = (): ServiceError =>
  new ServiceError(409, 'run_ended', 'The run is no longer executed, so its tools cannot be used.');
