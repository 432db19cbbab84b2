/** Responses of operations that are not JSON (`produces` in the contract): pages and files, streamed with constant memory. */
import { operation } from '../../interface/operations.ts';
import type { Input, MediaOperationId } from '../../interface/types.ts';
import type { Client } from '../client.ts';
import { operationRequest } from '../request.ts';
import type { Content } from './local-files.ts';

/** Milliseconds that one attempt may take, body included: a page is created before its first byte is sent, and may be large. */
const attemptMilliseconds = 600_000;

/** Marks the start of an attempt in the stream: everything before it is useless. */
const attemptStart = Symbol('begun');

/**
 * The body of an operation's response as it arrives. An attempt that breaks off is repeated and restarts the content.
 * Reading it throws what `Client.send` throws.
 */
export function mediaContent<Id extends MediaOperationId>(client: Client, id: Id, input: Input<Id>, signal: AbortSignal): Content {
  return mediaBody(client, operationRequest(id, input).path, operation(id).produces as string, signal);
}

/**
 * The same for a path.
 * @param type the media type of the response
 * @param once whether an attempt that breaks off is not repeated
 */
export function mediaBody(client: Client, path: string, type: string, signal: AbortSignal, { once = false } = {}): Content {
  return async function* (restart) {
    const abandonment = new AbortController();
    const { readable, writable } = new TransformStream<Uint8Array | typeof attemptStart>();
    const writer = writable.getWriter();
    // The reader gets the failure when it reaches that point of the stream.
    const ignore = (): undefined => undefined;
    const media = { type, begin: () => void writer.write(attemptStart).catch(ignore), write: (chunk: Uint8Array) => writer.write(chunk) };
    const request = { method: 'GET', path, headers: { accept: type }, mutates: false, attemptMilliseconds, media };
    const download = client
      .send(request, { signal: AbortSignal.any([signal, abandonment.signal]), once })
      .then(
        () => writer.close(),
        (error: unknown) => writer.abort(error),
      )
      .catch(ignore);
    let attempts = 0;
    try {
      for await (const item of readable) {
        if (item !== attemptStart) yield item;
        else if (attempts++ > 0) await restart();
      }
    } finally {
      abandonment.abort(new Error('the content is no longer read'));
      await download;
    }
  };
}
