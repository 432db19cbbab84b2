/** The answers of operations that are no JSON (`produces` in the contract): pages and files, streamed with flat memory. */
import { operation } from '../../interface/operations.ts';
import type { Input, MediaOperationId } from '../../interface/types.ts';
import type { Client } from '../client.ts';
import { operationRequest } from '../request.ts';
import type { Content } from './local-files.ts';

/** Milliseconds that one attempt may take, body included: a page is made before its first byte, and may be large. */
const attemptMilliseconds = 600_000;

/** Stands in the stream where an attempt begins: what came before is of no use. */
const begun = Symbol('begun');

/**
 * The body of an operation's answer, as it comes. An attempt that breaks off is made again, and begins the content anew.
 * Reading it throws what `Client.send` throws.
 */
export function mediaContent<Id extends MediaOperationId>(client: Client, id: Id, input: Input<Id>, signal: AbortSignal): Content {
  return mediaBody(client, operationRequest(id, input).path, operation(id).produces as string, signal);
}

/** The same for a path. @param type the media type of the answer */
export function mediaBody(client: Client, path: string, type: string, signal: AbortSignal): Content {
  return async function* (restart) {
    const left = new AbortController();
    const { readable, writable } = new TransformStream<Uint8Array | typeof begun>();
    const writer = writable.getWriter();
    // Whoever reads is told of a failure when he comes to it.
    const ignored = (): undefined => undefined;
    const media = { type, begin: () => void writer.write(begun).catch(ignored), take: (chunk: Uint8Array) => writer.write(chunk) };
    const request = { method: 'GET', path, headers: { accept: type }, mutates: false, attemptMilliseconds, media };
    const sent = client
      .send(request, { signal: AbortSignal.any([signal, left.signal]) })
      .then(
        () => writer.close(),
        (error: unknown) => writer.abort(error),
      )
      .catch(ignored);
    let attempts = 0;
    try {
      for await (const item of readable) {
        if (item !== begun) yield item;
        else if (attempts++ > 0) await restart();
      }
    } finally {
      left.abort(new Error('nobody reads it any more'));
      await sent;
    }
  };
}
