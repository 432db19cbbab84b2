/**
 * The client side of the Model Context Protocol, over the HTTP client. It uses the era of 2026-07-28, in which every
 * request is self-contained, and falls back to the legacy era (`initialize` first) for services that support no other.
 */
import { isObject, jsonValue } from '../../base/values.ts';
import { operation } from '../../interface/operations.ts';
import type { Client } from '../client.ts';
import { ServiceAnswerError, UnusableAnswerError } from '../errors.ts';
import { isRpcAnswer, type RpcAnswer, type RpcMessage, rpcCodes } from '../json-rpc.ts';
import { header } from '../limits/rate-limit.ts';
import { readJson } from '../response.ts';
import type { TransportResponse } from '../transport.ts';
import { RpcError } from './errors.ts';
import { legacyHeaders, modernHeaders, modernMessage, postRequest } from './messages.ts';

export interface Identity {
  name: string;
  version: string;
}

export interface Call {
  method: string;
  params?: Record<string, unknown>;
  /** Whether it may change something: then it carries an idempotency key, and is only sent again under that key. */
  mutates: boolean;
}

/** The newest version of the legacy era. */
const legacyVersion = '2025-11-25';

interface LegacyEra {
  version: string;
  session: string | undefined;
}

export class McpSession {
  readonly #client: Client;
  readonly #identity: Identity;
  readonly #counts = new Map<string, number>();
  /** Undefined until the service has answered. */
  #era: 'modern' | LegacyEra | undefined;

  constructor(client: Client, identity: Identity) {
    this.#client = client;
    this.#identity = identity;
  }

  /**
   * The result of a request.
   * @throws RpcError for a failure that the protocol reports, and what `Client.send` throws
   */
  async request(call: Call): Promise<Record<string, unknown>> {
    const message = this.#message(call);
    if (this.#era !== undefined && this.#era !== 'modern') return this.#requestLegacy(message, call, this.#era);
    try {
      const request = modernMessage(message, this.#identity);
      const result = resultOf(await this.#post(request, modernHeaders(request), call.mutates), call.method);
      this.#era = 'modern';
      return result;
    } catch (error) {
      if (this.#era !== undefined || !isOfEraBefore(error)) throw error;
    }
    return this.#requestLegacy(message, call, await this.#initialize());
  }

  /** Sends a message unchanged, and returns its unchanged answer; undefined for a notification. */
  async exchange(message: RpcMessage, mutates: boolean): Promise<RpcAnswer | undefined> {
    const response = await this.#send(message, modernHeaders(message), mutates);
    return message.id === undefined ? undefined : answerOf(response, message);
  }

  /** Ends the session, if the service started one. Failures are ignored. */
  async close(): Promise<void> {
    const era = this.#era;
    if (era === undefined || era === 'modern' || era.session === undefined) return;
    const request = {
      method: 'DELETE',
      path: operation('callMcp').path,
      headers: legacyHeaders(era),
      mutates: false,
      statusOnly: true,
    } as const;
    await this.#client.send(request).catch(() => undefined);
  }

  async #requestLegacy(message: RpcMessage, { method, mutates }: Call, era: LegacyEra): Promise<Record<string, unknown>> {
    try {
      return resultOf(await this.#post(message, legacyHeaders(era), mutates), method);
    } catch (error) {
      // The session has ended: the request was rejected, so it can be sent again in a new one.
      const isEnded = era.session !== undefined && error instanceof ServiceAnswerError && error.status === 404;
      if (!isEnded) throw error;
      return resultOf(await this.#post(message, legacyHeaders(await this.#initialize()), mutates), method);
    }
  }

  async #initialize(): Promise<LegacyEra> {
    const params = { protocolVersion: legacyVersion, capabilities: {}, clientInfo: this.#identity };
    const message = this.#message({ method: 'initialize', params });
    const response = await this.#send(message, {}, false);
    const { protocolVersion } = resultOf(answerOf(response, message), message.method);
    const session = header(response.headers, 'mcp-session-id');
    const era = { version: typeof protocolVersion === 'string' ? protocolVersion : legacyVersion, session };
    this.#era = era;
    await this.#send({ jsonrpc: '2.0', method: 'notifications/initialized' }, legacyHeaders(era), false);
    return era;
  }

  /** IDs are derived from the request, so that a command repeated with its key sends the same bytes. */
  #message({ method, params }: Pick<Call, 'method' | 'params'>): RpcMessage & { id: string } {
    const count = (this.#counts.get(method) ?? 0) + 1;
    this.#counts.set(method, count);
    return { jsonrpc: '2.0', id: count === 1 ? method : `${method} ${count}`, method, ...(params === undefined ? {} : { params }) };
  }

  async #post(message: RpcMessage, headers: Record<string, string>, mutates: boolean): Promise<RpcAnswer> {
    return answerOf(await this.#send(message, headers, mutates), message);
  }

  #send(message: RpcMessage, headers: Record<string, string>, mutates: boolean): Promise<TransportResponse> {
    const request = {
      ...postRequest(JSON.stringify(message), headers, mutates),
      ...(message.id === undefined ? { statusOnly: true as const } : {}),
      onMessage: (data: string) => isRpcAnswer(jsonValue(data), message.id),
    };
    return this.#client.send(request);
  }
}

function answerOf(response: TransportResponse, message: RpcMessage): RpcAnswer {
  const { value } = readJson(response) as { value?: unknown };
  if (isRpcAnswer(value, message.id)) return value;
  const { method, path } = operation('callMcp');
  throw new UnusableAnswerError({ status: response.status, method, path });
}

function resultOf({ result, error }: RpcAnswer, method: string): Record<string, unknown> {
  if (error !== undefined) throw new RpcError(error, method);
  return result ?? {};
}

/** Refusals that only a service of the modern era sends: they mean that the request is invalid. */
const modernRefusals: readonly number[] = [
  rpcCodes.methodNotFound,
  rpcCodes.invalidParams,
  rpcCodes.headerMismatch,
  rpcCodes.missingCapability,
];
/** How services of the legacy era answer a request that comes before `initialize`. */
const legacyRefusals: readonly number[] = [rpcCodes.serverError, rpcCodes.notInitialized];

/**
 * Whether the first request was rejected by a service that supports only the legacy era (2026-07-28, versioning). A request
 * rejected with a status was not carried out.
 */
function isOfEraBefore(error: unknown): boolean {
  if (error instanceof RpcError) return legacyRefusals.includes(error.rpc.code);
  if (!(error instanceof ServiceAnswerError)) return false;
  const { status, rpc } = error;
  if (rpc?.code === rpcCodes.unsupportedVersion) return namesLegacyVersion(rpc.data);
  if (status === 400) return rpc === undefined || !modernRefusals.includes(rpc.code);
  return (status === 404 && rpc !== undefined && !modernRefusals.includes(rpc.code)) || status === 406;
}

const namesLegacyVersion = (data: unknown): boolean =>
  isObject(data) &&
  Array.isArray(data.supported) &&
  data.supported.some((version) => typeof version === 'string' && version <= legacyVersion);
