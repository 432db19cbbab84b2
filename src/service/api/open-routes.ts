/**
 * Routes without a Bearer token: health, descriptions, signed URLs, the team page, and the token endpoint, which has its own
 * authentication. Only the token endpoint, signing in to the page, and its notifications count against a rate limit.
 */
import { openApiDocument } from '../../interface/openapi.ts';
import { type Answer, jsonAnswer } from '../http/answer.ts';
import type { Exchange, HttpParts, OpenMatch, OpenRoute } from '../http/exchange.ts';
import { protectedResourceMetadata, protectedResources, resourceMetadataPath } from '../http/resource-metadata.ts';
import { methodNotAllowed, routeNotFound } from '../http/router.ts';
import { authorizationServerMetadata } from '../oauth/metadata.ts';
import { tokenAnswer } from '../oauth/token-endpoint.ts';
import { assetAnswer } from '../page/assets.ts';
import { pushAnswer } from '../page/push-endpoint.ts';
import { sessionAnswer } from '../page/session-endpoint.ts';
import { callbackAnswer, callbackPath } from './oauth-callback.ts';
import { openLinkAnswer } from './open-link.ts';
import { healthAnswer, metricsAnswer, readyAnswer } from './operating-routes.ts';
import { downloadAnswer, uploadAnswer } from './transfers.ts';

const routes: Record<string, OpenRoute> = {
  healthz: { name: 'healthz', methods: ['GET'], answer: healthAnswer },
  readyz: { name: 'readyz', methods: ['GET'], answer: readyAnswer },
  metrics: { name: 'metrics', methods: ['GET'], answer: metricsAnswer },
  'v2/openapi.json': { name: 'openapi', methods: ['GET'], answer: (_, { baseUrl }) => jsonAnswer(200, openApiDocument(baseUrl)) },
  '.well-known/oauth-authorization-server': {
    name: 'oauth_metadata',
    methods: ['GET'],
    answer: (_, { baseUrl }) => jsonAnswer(200, authorizationServerMetadata(baseUrl)),
  },
  ...Object.fromEntries(
    protectedResources.map((resource): [string, OpenRoute] => [
      resourceMetadataPath(resource),
      {
        name: 'resource_metadata',
        methods: ['GET'],
        answer: (_, { baseUrl }) => jsonAnswer(200, protectedResourceMetadata(baseUrl, resource)),
      },
    ]),
  ),
  '': { name: 'page', methods: ['GET'], answer: (_, exchange) => pageFile(exchange, 'index.html') },
  'page/session': { name: 'page_session', methods: ['POST', 'DELETE'], answer: sessionAnswer },
  'page/push': { name: 'page_push', methods: ['GET', 'POST', 'PUT', 'DELETE'], answer: pushAnswer },
  [callbackPath]: { name: 'oauth_callback', methods: ['GET'], answer: callbackAnswer },
  'oauth/token': { name: 'oauth_token', methods: ['POST'], answer: tokenAnswer },
};

/** Paths whose last segment can be anything. */
const signedRoutes: Record<string, OpenRoute> = {
  files: { name: 'download', methods: ['GET'], answer: downloadAnswer },
  open: { name: 'open_link', methods: ['GET'], answer: openLinkAnswer },
  page: { name: 'page', methods: ['GET'], answer: (_, exchange, name) => pageFile(exchange, name) },
  uploads: { name: 'upload', methods: ['PUT'], answer: uploadAnswer },
};

/** Clients try several well-known documents before they have a token. A missing one must not be reported as "not signed in". */
const unknownDocument: OpenRoute = {
  name: 'well_known',
  methods: ['GET'],
  answer: () => {
    throw routeNotFound();
  },
};

/** The open route of a request; undefined if its path is not one. Throws 405. */
export function openRoute(exchange: Exchange): OpenMatch | undefined {
  const [first = '', second = ''] = exchange.segments;
  const path = exchange.segments.join('/');
  // A download URL can end with the name of the file, which is only for people.
  const signedLengths = first === 'files' ? [2, 3] : [2];
  const signedRoute =
    signedLengths.includes(exchange.segments.length) && Object.hasOwn(signedRoutes, first) ? signedRoutes[first] : undefined;
  const fallback = first === '.well-known' ? unknownDocument : signedRoute;
  const route = Object.hasOwn(routes, path) ? routes[path] : fallback;
  if (route === undefined) return undefined;
  if (!route.methods.includes(exchange.method === 'HEAD' ? 'GET' : exchange.method)) throw methodNotAllowed(route.methods);
  return { route, rest: second };
}

export async function openAnswer(
  parts: HttpParts,
  exchange: Exchange,
  { route, rest: segment }: OpenMatch,
): Promise<{ answer: Answer; caller?: string }> {
  const open = await route.answer(parts, exchange, segment);
  return 'answer' in open ? open : { answer: open };
}

function pageFile(exchange: Exchange, name: string): Answer {
  const answer = assetAnswer(exchange, name);
  if (answer === undefined) throw routeNotFound();
  return answer;
}
