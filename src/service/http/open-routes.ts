/**
 * What needs no Bearer token: health, descriptions, signed URLs, the team page, and the token endpoint, which has an authentication of its own.
 * None but the last, and signing in to the page, counts against a rate limit.
 */
import { version } from '../../base/version.ts';
import { openApiDocument } from '../../interface/openapi.ts';
import { authorizationServerMetadata } from '../oauth/metadata.ts';
import { tokenAnswer } from '../oauth/token-endpoint.ts';
import { assetAnswer } from '../page/assets.ts';
import { sessionAnswer } from '../page/session-endpoint.ts';
import { type Answer, jsonAnswer } from './answer.ts';
import { callbackAnswer, callbackPath } from './oauth-callback.ts';
import type { Exchange, HttpParts } from './pipeline.ts';
import { methodNotAllowed, routeNotFound } from './router.ts';
import { downloadAnswer, uploadAnswer } from './transfers.ts';

/** An answer, and the caller where it is known. */
type Open = Answer | { answer: Answer; caller: string };
type OpenRoute = { methods: string[]; answer: (parts: HttpParts, exchange: Exchange, rest: string) => Open | Promise<Open> };

const routes: Record<string, OpenRoute> = {
  healthz: { methods: ['GET'], answer: ({ instanceId }) => jsonAnswer(200, { status: 'ok', version, instance_id: instanceId }) },
  'v2/openapi.json': { methods: ['GET'], answer: () => jsonAnswer(200, openApiDocument()) },
  '.well-known/oauth-authorization-server': {
    methods: ['GET'],
    answer: (_, { baseUrl }) => jsonAnswer(200, authorizationServerMetadata(baseUrl)),
  },
  '': { methods: ['GET'], answer: (_, exchange) => pageFile(exchange, 'index.html') },
  'page/session': { methods: ['POST', 'DELETE'], answer: sessionAnswer },
  [callbackPath]: { methods: ['GET'], answer: callbackAnswer },
  'oauth/token': { methods: ['POST'], answer: tokenAnswer },
};

/** Paths with a last segment that is anything. */
const signedRoutes: Record<string, OpenRoute> = {
  files: { methods: ['GET'], answer: downloadAnswer },
  page: { methods: ['GET'], answer: (_, exchange, name) => pageFile(exchange, name) },
  uploads: { methods: ['PUT'], answer: uploadAnswer },
};

/** The answer of an open route; undefined when the path is none. */
export async function openAnswer(parts: HttpParts, exchange: Exchange): Promise<{ answer: Answer; caller?: string } | undefined> {
  const [first = '', second = ''] = exchange.segments;
  const plain = exchange.segments.join('/');
  // A download's URL may end with the name of the file, which is for people alone.
  const signedLengths = first === 'files' ? [2, 3] : [2];
  const signed = signedLengths.includes(exchange.segments.length) && Object.hasOwn(signedRoutes, first) ? signedRoutes[first] : undefined;
  const route = Object.hasOwn(routes, plain) ? routes[plain] : signed;
  if (route === undefined) return undefined;
  if (!route.methods.includes(exchange.method === 'HEAD' ? 'GET' : exchange.method)) throw methodNotAllowed(route.methods);
  const open = await route.answer(parts, exchange, second);
  return 'answer' in open ? open : { answer: open };
}

function pageFile(exchange: Exchange, name: string): Answer {
  const answer = assetAnswer(exchange, name);
  if (answer === undefined) throw routeNotFound();
  return answer;
}
