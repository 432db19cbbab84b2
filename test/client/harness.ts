/** A client that talks to a scripted server, on a clock that the test controls. */
import { bearerCredential } from '../../src/client/access/credential.ts';
import { Client, type ClientEvent, type ClientOptions } from '../../src/client/client.ts';
import { RawServer, type Step } from '../faults/raw-server.ts';
import { ManualClock } from '../service/helpers/clock.ts';
import { afterTest } from '../support/temporary.ts';

export async function scriptedServer(...steps: Step[]): Promise<RawServer> {
  const server = await RawServer.start(...steps);
  afterTest(() => server.close());
  return server;
}

/** A clock that does not advance, but lets announced waits pass immediately and records how long they were. */
export class WaitClock extends ManualClock {
  /** Milliseconds of every wait that passed. */
  readonly waitTimes: number[] = [];
  #isAnnounced = false;

  /** The next sleep is a wait, not a time limit. */
  announce(): void {
    this.#isAnnounced = true;
  }

  override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (!this.#isAnnounced) return super.sleep(ms, signal);
    this.#isAnnounced = false;
    signal?.throwIfAborted();
    this.waitTimes.push(ms);
    this.advance(ms);
  }
}

export interface Harness {
  client: Client;
  clock: WaitClock;
  events: ClientEvent[];
}

/** A client whose waits pass immediately, unless `hold` is set; jitter is half of its maximum. */
export function newClient(
  baseUrl: string,
  options: Partial<ClientOptions> & { hold?: boolean } = {},
  make = (options: ClientOptions) => new Client(options),
): Harness {
  const { hold = false, ...rest } = options;
  const clock = new WaitClock();
  const events: ClientEvent[] = [];
  const client = make({
    baseUrl,
    credential: bearerCredential('secret-token'),
    userAgent: 'aops/test',
    clock,
    random: () => 0.5,
    onEvent: (event) => {
      events.push(event);
      if (!hold && (event.type === 'retry' || event.type === 'rate_limit.waiting')) clock.announce();
    },
    ...rest,
  });
  afterTest(() => client.close());
  return { client, clock, events };
}

/** The error with which a promise rejects. @throws Error when it does not reject */
export async function failureOf<Failure = Record<string, unknown>>(promise: Promise<unknown>): Promise<Failure> {
  const value = await promise.then(
    (result) => ({ result }),
    (error: unknown) => ({ error }),
  );
  if ('error' in value) return value.error as Failure;
  throw new Error(`It should have failed, and gave ${JSON.stringify(value.result)}`);
}
