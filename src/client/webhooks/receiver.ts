/**
 * A local receiver of webhooks: verifies each delivery before passing it on, recognises repeats by their ID, and answers
 * with the status from its caller.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../base/clock.ts';
import { AopsError, exitCodes } from '../../base/errors.ts';
import { verifyDelivery } from './signature.ts';
import type { Verdict } from './verdict.ts';

/** A delivery as it was received. */
export interface ReceivedDelivery {
  verdict: Verdict;
  /** Whether a delivery with this ID was received before. */
  duplicate: boolean;
  headers: readonly (readonly [name: string, value: string])[];
  body: Buffer;
}

export interface ReceiverOptions {
  /** 0 for any free port. */
  port: number;
  secrets: readonly Uint8Array[];
  clock: Clock;
  /** Returns the status to answer with. */
  onDelivery: (delivery: ReceivedDelivery) => Promise<number>;
  /** Called when the response has been handed to the system. */
  onAnswered?: (delivery: ReceivedDelivery, status: number) => void;
  /** The IDs of deliveries that were received before, oldest first. */
  seenIds?: readonly string[];
}

export interface WebhookReceiver {
  readonly url: string;
  close(): Promise<void>;
}

const bodyLimit = 10 * 1024 * 1024;
/** Number of IDs to remember; the oldest are dropped. */
const rememberedIds = 10_000;

/** Starts receiving on 127.0.0.1. @throws AopsError `port_in_use` */
export async function receiveWebhooks(options: ReceiverOptions): Promise<WebhookReceiver> {
  const seenIds = new Set<string>(options.seenIds?.slice(-rememberedIds));
  let pending: Promise<unknown> = Promise.resolve();
  const server = createServer({ requestTimeout: 30_000 }, (request, response) => {
    const delivery = receive(request, options, seenIds).then(
      async ({ status, received }) => {
        const wasSent = await answer(response, status);
        if (wasSent && received !== undefined) options.onAnswered?.(received, status);
      },
      () => answer(response, 500),
    );
    pending = Promise.allSettled([pending, delivery]);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, '127.0.0.1', resolve);
  }).catch((error: NodeJS.ErrnoException) => {
    throw new AopsError(`Cannot listen on port ${options.port} (${error.code}).`, {
      code: 'port_in_use',
      exit: exitCodes.usage,
      hint: 'Choose another port with --port, or leave it out to use any free port.',
      cause: error,
    });
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async close() {
      server.close();
      await pending;
      server.closeAllConnections();
    },
  };
}

interface Received {
  status: number;
  received?: ReceivedDelivery;
}

async function receive(request: IncomingMessage, options: ReceiverOptions, seenIds: Set<string>): Promise<Received> {
  if (request.method !== 'POST') return { status: 405 };
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > bodyLimit) return { status: 413 };
    chunks.push(chunk as Buffer);
  }
  const body = Buffer.concat(chunks);
  const headers = headerPairs(request.rawHeaders);
  const verdict = verifyDelivery({ headers, body }, { secrets: options.secrets, now: options.clock.now() });
  const duplicate = verdict.valid && seenIds.has(verdict.id);
  if (verdict.valid) remember(seenIds, verdict.id);
  const received = { verdict, duplicate, headers, body };
  const status = await options.onDelivery(received);
  return { status: verdict.valid ? status : 400, received };
}

function remember(seenIds: Set<string>, id: string): void {
  seenIds.add(id);
  const [oldest = id] = seenIds;
  if (seenIds.size > rememberedIds) seenIds.delete(oldest);
}

const headerPairs = (rawHeaders: readonly string[]): [string, string][] =>
  rawHeaders.flatMap((name, index): [string, string][] => (index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? '']] : []));

/** Resolves to whether the response was handed to the system, instead of being lost with the connection. */
async function answer(response: ServerResponse, status: number): Promise<boolean> {
  if (response.destroyed) return false;
  // The unread rest of a body would be taken for the next request.
  response.writeHead(status, { Connection: 'close' }).end();
  return new Promise((resolve) => {
    response.once('finish', () => resolve(true));
    response.once('close', () => resolve(false));
  });
}
