/** What needs no credential: health, the interface's description, and signed URLs. None of it counts against a rate limit. */
import { version } from '../../base/version.ts';
import { openApiDocument } from '../../interface/openapi.ts';
import { type Answer, jsonAnswer } from './answer.ts';
import type { Exchange, HttpParts } from './pipeline.ts';
import { methodNotAllowed } from './router.ts';
import { downloadAnswer, uploadAnswer } from './transfers.ts';

type OpenRoute = { methods: string[]; answer: (parts: HttpParts, exchange: Exchange, rest: string) => Answer | Promise<Answer> };

const routes: Record<string, OpenRoute> = {
  healthz: { methods: ['GET'], answer: ({ instanceId }) => jsonAnswer(200, { status: 'ok', version, instance_id: instanceId }) },
  'v2/openapi.json': { methods: ['GET'], answer: () => jsonAnswer(200, openApiDocument()) },
};

const signedRoutes: Record<string, OpenRoute> = {
  files: { methods: ['GET'], answer: downloadAnswer },
  uploads: { methods: ['PUT'], answer: uploadAnswer },
};

/** The answer of an open route; undefined when the path is none. */
export async function openAnswer(parts: HttpParts, exchange: Exchange): Promise<Answer | undefined> {
  const [first = '', second = ''] = exchange.segments;
  const plain = exchange.segments.join('/');
  const signed = exchange.segments.length === 2 && Object.hasOwn(signedRoutes, first) ? signedRoutes[first] : undefined;
  const route = Object.hasOwn(routes, plain) ? routes[plain] : signed;
  if (route === undefined) return undefined;
  if (!route.methods.includes(exchange.method === 'HEAD' ? 'GET' : exchange.method)) throw methodNotAllowed(route.methods);
  return route.answer(parts, exchange, second);
}
