/** A client that reads normally and stops at the first change, to show the request instead of sending it. */
import type { CallOptions } from './client.ts';
import { Client, type ClientOptions } from './client.ts';
import type { ServiceRequest } from './request.ts';
import type { TransportResponse } from './transport.ts';

/** The request that would have been sent. It never contains the credential. */
export interface PlannedRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: unknown;
}

/** What bulk work would do: the number of requests, and the first of them. */
export interface PlannedWork {
  first_requests: unknown[];
  [count: string]: unknown;
}

/** Thrown instead of sending a change; the command then ends successfully. */
export class DryRunStop extends Error {
  readonly request: PlannedRequest | PlannedWork;

  constructor(request: PlannedRequest | PlannedWork) {
    super('dry run');
    this.name = 'DryRunStop';
    this.request = request;
  }
}

export class DryRunClient extends Client {
  readonly #userAgent: string;
  readonly #key: string | undefined;

  constructor(options: ClientOptions) {
    super(options);
    this.#userAgent = options.userAgent;
    this.#key = options.idempotencyKey;
  }

  override async send(request: ServiceRequest, options?: CallOptions): Promise<TransportResponse> {
    if (!request.mutates) return super.send(request, options);
    const { method, path, headers, body } = request;
    throw new DryRunStop({
      method,
      url: this.baseUrl + path,
      headers: {
        accept: 'application/json',
        'user-agent': this.#userAgent,
        ...headers,
        authorization: 'Bearer ***',
        'idempotency-key': this.#key ?? '(a new key)',
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? (JSON.parse(body) as unknown) : `${body.length} bytes` }),
    });
  }
}
