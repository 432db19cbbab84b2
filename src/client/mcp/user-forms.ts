/** Forms that a client shows to its user on behalf of a server (`elicitation/create`), and their answers. */
import { deferred } from '../../base/deferred.ts';
import type { JsonObject } from '../../base/values.ts';
import { newIdempotencyKey } from '../idempotency.ts';
import { isRpcAnswer, type RpcAnswer } from '../json-rpc.ts';

export class UserForms {
  readonly #write: (line: string) => Promise<void>;
  /** The forms that the client is showing, by the ID of the request. */
  readonly #open = new Map<string, (answer: RpcAnswer) => void>();

  /** @param write writes a line to the client */
  constructor(write: (line: string) => Promise<void>) {
    this.#write = write;
  }

  /** Shows a form, and resolves to its result: undefined if the client cannot show it, or after the signal. */
  async show(params: JsonObject, signal: AbortSignal): Promise<unknown> {
    if (signal.aborted) return undefined;
    const id = `aops-${newIdempotencyKey()}`;
    const { promise, resolve } = deferred();
    let answer: RpcAnswer | undefined;
    signal.addEventListener('abort', resolve, { once: true });
    this.#open.set(id, (received) => {
      answer = received;
      resolve();
    });
    try {
      await this.#write(JSON.stringify({ jsonrpc: '2.0', id, method: 'elicitation/create', params }));
      await promise;
      if (answer === undefined)
        await this.#write(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } }));
      return answer?.result;
    } finally {
      this.#open.delete(id);
      signal.removeEventListener('abort', resolve);
    }
  }

  /** Takes a message of the client if it answers one of the forms. */
  take(message: JsonObject): boolean {
    if (!isRpcAnswer(message)) return false;
    const resolve = this.#open.get(String(message.id));
    resolve?.(message);
    return resolve !== undefined;
  }
}
