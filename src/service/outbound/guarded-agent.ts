/**
 * Connects to hosts that are specified from outside. The rules check each address right before the connection, which is made to the
 * checked address.
 */
import { isIP } from 'node:net';
import { Agent, buildConnector, type Connector, type Dispatcher } from '../../base/undici.ts';
import { type Guard, guardedLookup, HostNotAllowedError, withoutBrackets } from './guarded-lookup.ts';
import type { HostRules } from './host-rules.ts';
import { type Lookup, systemLookup } from './system-lookup.ts';

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
    this.#lookup = options.lookup ?? systemLookup;
    // Connections are not reused: one that the other side has closed in the meantime would look like a failure of the receiver.
    this.dispatcher = new Agent({ pipelining: 0, headersTimeout: 0, bodyTimeout: 0, connect: this.#connector() });
  }

  /** Whether an address of the host is allowed; true if the host cannot be looked up, because it might exist later. */
  async isAllowed(host: string): Promise<boolean> {
    const bare = withoutBrackets(host);
    const { rules } = this.#options;
    if (isIP(bare) !== 0) return rules.allows(bare, bare);
    return new Promise((resolve) => {
      this.#lookup(bare, { all: true }, (error, addresses) =>
        resolve(error !== null || addresses.some(({ address }) => rules.allows(bare, address))),
      );
    });
  }

  /** The allowed addresses of a host, for programs that connect by themselves; none if it cannot be looked up. */
  async allowedAddresses(host: string): Promise<string[]> {
    const bare = withoutBrackets(host);
    const { rules } = this.#options;
    if (isIP(bare) !== 0) return rules.allows(bare, bare) ? [bare] : [];
    return new Promise((resolve) => {
      this.#lookup(bare, { all: true }, (error, results) =>
        resolve(error ? [] : results.map(({ address }) => address).filter((address) => rules.allows(bare, address))),
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
    const { rules, deadline } = this.#options;
    const guard: Guard = {
      allows: (host, address) => rules.allows(host, address),
      lookup: this.#lookup,
      refuse: (host) => this.#refuse(host),
    };
    const connect = buildConnector({ timeout: deadline, lookup: guardedLookup(guard) });
    return (options, callback) => {
      const host = withoutBrackets(options.hostname);
      // An IP address does not need a lookup.
      if (isIP(host) !== 0 && !rules.allows(host, host)) return callback(this.#refuse(host), null);
      return connect(options, callback);
    };
  }
}
