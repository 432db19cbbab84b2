/** A request in the pipeline, and the collaborators that the pipeline needs to answer it. */
import type { IncomingMessage } from 'node:http';
import type { OperationId } from '../../interface/operations.ts';
import type { Engine } from '../engine/engine.ts';
import type { Readiness } from '../operating/readiness.ts';
import type { ServiceMetrics } from '../operating/service-metrics.ts';
import type { UrlSigner } from '../signed-urls.ts';
import type { Tokens } from '../store/access/token-cache.ts';
import type { IdempotencyKeys } from '../store/idempotency/idempotency-keys.ts';
import type { Answer } from './answer.ts';
import type { ReceivedRequest, TrustedProxies } from './client-address.ts';
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
  /** The proxies that are trusted to report the addresses of clients. */
  proxies: TrustedProxies;
  /** Counts invalid client secrets and sign-in codes. */
  attempts: RateLimiter;
  keys: IdempotencyKeys;
  router: Router;
  tokens: Tokens;
  /** The address at which others reach the service, if it differs from where it listens. Without a trailing slash. */
  publicUrl: string | undefined;
  streams: Streams;
  metrics: ServiceMetrics;
  /** The token for reading metrics; without one, only this machine can read them. */
  metricsToken: string | undefined;
  readiness: Readiness;
}

/** A request in the pipeline. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly requestId: string;
  readonly method: string;
  readonly segments: string[];
  readonly search: URLSearchParams;
  /** The address at which the caller reaches the service, without a trailing slash. */
  readonly baseUrl: string;
  readonly lifetime: Lifetime;
}

/** Whether a caller is an address rather than a credential. */
export const isAddress = (caller: string): boolean => caller.startsWith('address ');

/** The address of a request, as the caller for limits. */
export const addressOf = ({ proxies }: Pick<HttpParts, 'proxies'>, request: ReceivedRequest): string =>
  `address ${proxies.client(request)}`;

/** A handler whose input has been checked against the operation's schemas. */
export type AnyHandler = (context: RequestContext, input: { params: unknown; query: unknown; body: unknown }) => Promise<unknown>;

/** An answer, and the caller if it is known. */
export type OpenAnswer = Answer | { answer: Answer; caller: string };

/** A route that needs no Bearer token. */
export interface OpenRoute {
  /** Its name in logs and metrics. */
  name: string;
  methods: string[];
  answer: (parts: HttpParts, exchange: Exchange, rest: string) => OpenAnswer | Promise<OpenAnswer>;
}

/** An open route and the rest of the path. */
export interface OpenMatch {
  route: OpenRoute;
  rest: string;
}

/** The transport's view of the handlers. It is passed in, because handlers build on the transport. */
export interface ServiceApi {
  handlerOf(id: OperationId): AnyHandler;
  /** The handler of an operation with its own protocol; undefined for all others. */
  rawHandlerOf(id: OperationId): RawHandler | undefined;
  /** The open route of a request; undefined if its path is not open. @throws ServiceError 405 */
  openRoute(exchange: Exchange): OpenMatch | undefined;
  openAnswer(parts: HttpParts, exchange: Exchange, match: OpenMatch): Promise<{ answer: Answer; caller?: string }>;
}
