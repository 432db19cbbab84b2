/** Which requests change nothing: known methods, and the tools that the service declares as read-only. */
import { isObject } from '../../base/values.ts';
import type { RpcMessage } from '../json-rpc.ts';
import type { Reading } from '../transport.ts';

const reads = /^(initialize|ping|server\/discover|completion\/complete|(tools|prompts|resources|resources\/templates)\/(list|get|read))$/;

/** Whether a method only reads, whatever its parameters. */
export const isRead = (method: string): boolean => reads.test(method);

export class ReadOnlyTools {
  readonly #names = new Set<string>();

  /** Learns from the answer to `tools/list` which tools are read-only. */
  learn({ method }: RpcMessage, { value }: Reading & { value?: unknown }): void {
    if (method !== 'tools/list' || !isObject(value) || !isObject(value.result) || !Array.isArray(value.result.tools)) return;
    for (const tool of value.result.tools as unknown[]) {
      if (!isObject(tool) || typeof tool.name !== 'string') continue;
      if (isObject(tool.annotations) && tool.annotations.readOnlyHint === true) this.#names.add(tool.name);
      else this.#names.delete(tool.name);
    }
  }

  /** Whether a request may change something; such a request carries an idempotency key. */
  isChange({ method, params }: RpcMessage): boolean {
    return !isRead(method) && !(method === 'tools/call' && this.#names.has(String(params?.name)));
  }
}
