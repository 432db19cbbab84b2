/** JSON-RPC over standard input and output, one message per line, and the mode of the agent. */
import process from 'node:process';
import { createInterface } from 'node:readline';

export const mode = process.argv[2] ?? 'well-behaved';
/** Whether the mode is one of these. */
export const is = (...modes) => modes.includes(mode);

const pending = new Map();
let nextId = 1;

export const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

/** Resolves with the client's result, or with `{ error }`. */
export function request(method, params) {
  const id = nextId++;
  send({ id, method, params });
  return new Promise((resolve) => pending.set(id, resolve));
}

export class ProtocolError extends Error {
  constructor(code, message, data) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export const never = new Promise(() => undefined);

async function receive(message, methods) {
  if (message.method === undefined) {
    pending.get(message.id)?.(message.result ?? { error: message.error });
    pending.delete(message.id);
    return;
  }
  const { id, method, params } = message;
  try {
    const handler = methods[method];
    if (handler === undefined) throw new ProtocolError(-32601, 'Method not found');
    const result = await handler(params);
    if (id !== undefined) send({ id, result });
  } catch (error) {
    if (id !== undefined) send({ id, error: { code: error.code ?? -32603, message: error.message, data: error.data } });
  }
}

/** Handles requests and notifications with these functions by method; calls `end` at the end of the input. */
export function serve(methods, end) {
  createInterface({ input: process.stdin })
    .on('line', (line) => void receive(JSON.parse(line), methods))
    .on('close', end);
}
