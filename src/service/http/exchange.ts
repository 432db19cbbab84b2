/** A request on its way through the pipeline, and what the parts of the pipeline need to answer it. */
import type { IncomingMessage } from 'node:http';
import type { OperationId } from '../../interface/operations.ts';
import type { Engine } from '../engine/engine.ts';
import type { Readiness } from '../operating/readiness.ts';
import type { ServiceMetrics } from '../operating/service-metrics.ts';
import type { UrlSigner } from '../signed-urls.ts';
import type { Tokens } from '../store/access/known-tokens.ts';
import type { IdempotencyKeys } from '../store/idempotency/idempotency-keys.ts';
import type { Answer } from './answer.ts';
import type { Received, TrustedProxies } from './client-address.ts';
import type { RawHandler, RequestContext, Streams } from './context.ts';
import type { Lifetime } from './lifetime.ts';
import type { HttpLimits } from './limits.ts';
import type { OriginCheck } from './origin.ts';
import type { RateLimiter } from './rate-limit.ts';
import type { Router } from './router.ts';

export interface HttpParts {
  api: ServiceApi;
  engine: Engine;
  signer: UrlSigner;
  instanceId: string;
  limits: HttpLimits;
  checkOrigin: OriginCheck;
  limiter: RateLimiter;
  /** Who is believed when it reports the address of a client. */
  proxies: TrustedProxies;
  /** Counts wrong client secrets and sign-in codes. */
  attempts: RateLimiter;
  keys: IdempotencyKeys;
  router: Router;
  tokens: Tokens;
  /** Where others reach the service, when it is not where it listens. Without a slash at the end. */
  publicUrl: string | undefined;
  streams: Streams;
  metrics: ServiceMetrics;
  /** Who has it may read the figures; without one, this machine may. */
  metricsToken: string | undefined;
  readiness: Readiness;
}

/** A request on its way through the pipeline. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly requestId: string;
  readonly method: string;
  readonly segments: string[];
  readonly search: URLSearchParams;
  /** Where the caller reaches the service, without a slash at the end. */
  readonly baseUrl: string;
  readonly lifetime: Lifetime;
}

/** Whether a caller is an address and no credential. */
export const isAddress = (caller: string): boolean => caller.startsWith('address ');

/** Where a request came from, as the caller that its limits count. */
export const addressOf = ({ proxies }: Pick<HttpParts, 'proxies'>, request: Received): string => `address ${proxies.client(request)}`;

/** A handler whose input has been checked against the operation's schemas. */
export type AnyHandler = (context: RequestContext, input: { params: unknown; query: unknown; body: unknown }) => Promise<unknown>;

/** An answer, and the caller where it is known. */
export type OpenAnswer = Answer | { answer: Answer; caller: string };

/** A route that needs no Bearer token. */
export interface OpenRoute {
  /** What it is called in logs and metrics. */
  name: string;
  methods: string[];
  answer: (parts: HttpParts, exchange: Exchange, rest: string) => OpenAnswer | Promise<OpenAnswer>;
}

/** An open route and what it was asked with. */
export interface OpenMatch {
  route: OpenRoute;
  rest: string;
}

/** What the transport knows of the handlers. It is handed in, because handlers build on the transport. */
export interface ServiceApi {
  handlerOf(id: OperationId): AnyHandler;
  /** The handler of an operation that speaks a protocol of its own; undefined for all others. */
  rawHandlerOf(id: OperationId): RawHandler | undefined;
  /** The open route of a request; undefined when its path is not one. @throws ServiceError 405 */
  openRoute(exchange: Exchange): OpenMatch | undefined;
  openAnswer(parts: HttpParts, exchange: Exchange, match: OpenMatch): Promise<{ answer: Answer; caller?: string }>;
}
