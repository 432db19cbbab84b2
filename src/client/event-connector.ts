/** Opens event streams on connections of their own: one attempt each, paced like any other request, with a new token when the first is rejected. */
import { anySignal } from '../base/abort.ts';
import { type Clock, steadyTime } from '../base/clock.ts';
import type { Dispatcher } from '../base/undici.ts';
import type { OperationId } from '../interface/operations.ts';
import type { EventReader } from './event-reader.ts';
import { NoStreamError, openStream } from './event-streams.ts';
import type { Pacer } from './limits/pacing.ts';
import type { RateGate } from './limits/rate-gate.ts';
import type { ClientEvent, ClientOptions } from './options.ts';
import type { ServiceRequest } from './request.ts';
import { failure } from './transport.ts';

export interface OpenEventsOptions {
  /** The event to continue after; undefined to start with the first. */
  lastEventId: string | undefined;
  signal: AbortSignal;
}

/** Event streams at the same time; the local service allows as many for each credential. */
const maxStreams = 64;

interface Parts {
  /** The base URL in parts. */
  base: { origin: string; prefix: string };
  clock: Clock;
  gate: RateGate;
  pacer: Pacer;
  credential: ClientOptions['credential'];
  userAgent: string;
  /** Aborted when the client ends. */
  signal: AbortSignal;
  /** Opens connections to the service, this many at most. */
  openDispatcher: (connections: number) => Promise<Dispatcher>;
  emit: (event: ClientEvent) => void;
}

export class EventConnector {
  readonly #parts: Parts;
  /** Operations that this service does not offer as streams. */
  readonly #missingStreams = new Set<OperationId>();
  /** Its connections stay open: other requests must not wait for one of them to end. */
  #dispatcher: Promise<Dispatcher> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** @throws NoStreamError when there is no stream, the connection's failure, RateLimitedError, or the signal's reason */
  async open(id: OperationId, request: ServiceRequest, { lastEventId, signal: callSignal }: OpenEventsOptions): Promise<EventReader> {
    if (this.#missingStreams.has(id)) throw new NoStreamError('the service has no event stream', { final: true });
    const { credential, gate, pacer } = this.#parts;
    const signal = anySignal([this.#parts.signal, callSignal]);
    for (let refreshed = false; ; refreshed = true) {
      await pacer.enter(signal, { method: request.method, path: request.path });
      const authorization = await credential.authorization(signal).catch((error: unknown) => {
        gate.leave();
        throw error;
      });
      try {
        return await this.#openOnce(request, { authorization, lastEventId, signal });
      } catch (error) {
        if (!(error instanceof NoStreamError)) throw error;
        if (error.final) this.#missingStreams.add(id);
        const isRefreshed = error.status === 401 && !refreshed && (await credential.refresh?.(authorization, signal));
        if (!isRefreshed) throw error;
      } finally {
        gate.leave();
      }
    }
  }

  /** Ends all streams. */
  async close(): Promise<void> {
    // A failure to open the dispatcher was reported by the stream that needed it.
    await (await this.#dispatcher?.catch(() => undefined))?.destroy();
  }

  async #openOnce(
    request: ServiceRequest,
    { authorization, lastEventId, signal }: { authorization: string } & OpenEventsOptions,
  ): Promise<EventReader> {
    const { base, clock, gate, emit } = this.#parts;
    const path = base.prefix + request.path;
    const headers = {
      accept: 'text/event-stream',
      'accept-encoding': 'identity',
      'user-agent': this.#parts.userAgent,
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    };
    const startedAt = steadyTime(clock);
    const requestHeaders = { ...headers, authorization: `${authorization.split(' ', 1)[0]} ***` };
    const trace = { type: 'trace', method: request.method, url: base.origin + path, requestHeaders } as const;
    const elapsedTime = (): number => Math.round(steadyTime(clock) - startedAt);
    this.#dispatcher ??= this.#parts.openDispatcher(maxStreams);
    try {
      return await openStream(
        await this.#dispatcher,
        { origin: base.origin, path, headers: { ...headers, authorization } },
        {
          clock,
          signal,
          onHead: ({ status, headers: responseHeaders }) => {
            gate.observe(responseHeaders, startedAt, steadyTime(clock));
            emit({ ...trace, milliseconds: elapsedTime(), status, responseHeaders });
          },
        },
      );
    } catch (error) {
      if (!(error instanceof NoStreamError)) emit({ ...trace, milliseconds: elapsedTime(), reason: failure(error).reason });
      throw error;
    }
  }
}
