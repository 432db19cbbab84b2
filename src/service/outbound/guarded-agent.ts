/**
 * Connects to hosts that are specified from outside. The rules check each address right before the connection, which is made to the
 * checked address.
 */
import { type LookupAddress, type LookupOptions, lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { Agent, buildConnector, type Connector, type Dispatcher } from '../../base/undici.ts';
import type { HostRules } from './host-rules.ts';

/** All addresses of a name, like `dns.lookup` with `all`. */
export type Lookup = (
  host: string,
  options: LookupOptions & { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** The host is not allowed. Its message is half a sentence. */
export class HostNotAllowedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'HostNotAllowedError';
  }
}

export interface GuardedAgentOptions {
  rules: HostRules;
  /** By default, the lookup of the system. */
  lookup?: Lookup | undefined;
  /** The time limit for connecting, in milliseconds. */
  deadline: number;
  /** Returns half a sentence about a host that the rules do not allow. */
  refusalMessage: (host: string) => string;
}

export class GuardedAgent {
  readonly dispatcher: Dispatcher;
  readonly #options: GuardedAgentOptions;
  readonly #lookup: Lookup;

  constructor(options: GuardedAgentOptions) {
    this.#options = options;
    this.#lookup = options.lookup ?? (systemLookup as Lookup);
    // Connections are not reused: one that the other side has closed in the meantime would look like a failure of the receiver.
    this.dispatcher = new Agent({ pipelining: 0, headersTimeout: 0, bodyTimeout: 0, connect: this.#connector() });
  }

  /** Whether an address of the host is allowed; true if the host cannot be looked up, because it might exist later. */
  async mayReach(host: string): Promise<boolean> {
    const bare = unbracketed(host);
    const { rules } = this.#options;
    if (isIP(bare) !== 0) return rules.allows(bare, bare);
    return new Promise((resolve) => {
      this.#lookup(bare, { all: true }, (error, addresses) =>
        resolve(error !== null || addresses.some(({ address }) => rules.allows(bare, address))),
      );
    });
  }

  /** Aborts all connections in progress. */
  async close(): Promise<void> {
    await this.dispatcher.destroy();
  }

  #refuse(host: string): HostNotAllowedError {
    return new HostNotAllowedError(this.#options.refusalMessage(host));
  }

  #connector(): Connector.connector {
    const connect = buildConnector({ timeout: this.#options.deadline, lookup: this.#guardedLookup });
    return (options, callback) => {
      const host = unbracketed(options.hostname);
      // An IP address does not need a lookup.
      if (isIP(host) !== 0 && !this.#options.rules.allows(host, host)) return callback(this.#refuse(host), null);
      return connect(options, callback);
    };
  }

  /** Returns the allowed addresses, which are then used for the connection. */
  readonly #guardedLookup: LookupFunction = (host, options, callback) => {
    this.#lookup(host, { ...options, all: true }, (error, results) => {
      if (error) return callback(error, []);
      const addresses = results.filter(({ address }) => this.#options.rules.allows(host, address));
      const [first] = addresses;
      if (first === undefined) return callback(this.#refuse(host), []);
      if ((options as LookupOptions).all) return callback(null, addresses);
      return callback(null, first.address, first.family);
    });
  };
}

const unbracketed = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');
