/**
 * A service by another vendor: it answers the routes of a test, and everything else like a common framework. It records its requests.
 */
import http from 'node:http';
import type net from 'node:net';
import { folderEnv } from './service.ts';
import { whenDone } from './temporary.ts';

export interface ForeignRequest {
  method: string;
  /** Without the query. */
  path: string;
  query: URLSearchParams;
  headers: http.IncomingHttpHeaders;
  /** Parsed JSON; undefined if there was no body, or another one. */
  body: unknown;
}

export interface ForeignAnswer {
  status: number;
  /** A text is sent unchanged. */
  body: unknown;
  type?: string;
}

/** The answer for an unknown path. */
export type UnknownRoute = (request: ForeignRequest) => ForeignAnswer;

export const asFastify: UnknownRoute = ({ method, path }) => ({
  status: 404,
  body: { error: 'Not Found', message: `Route ${method}:${path} not found`, statusCode: 404 },
});

export const asPrism: UnknownRoute = ({ method, path }) => ({
  status: 404,
  type: 'application/problem+json',
  body: {
    type: 'https://stoplight.io/prism/errors#NO_PATH_MATCHED_ERROR',
    title: 'Route not resolved, no path matched',
    status: 404,
    detail: `The route ${path} hasn't been found for ${method.toLowerCase()}.`,
  },
});

export const asHtml: UnknownRoute = () => ({
  status: 404,
  type: 'text/html',
  body: '<!doctype html><title>404</title><h1>\u001b[31mNot Found</h1>',
});

/** Maps `GET /v2/runs/:id` to an answer with its status, or to the body of a 200. `:name` stands for any segment. */
export type ForeignRoutes = Record<string, (request: ForeignRequest, ...segments: string[]) => unknown>;

export const answerWith = (status: number, body: unknown, type?: string): ForeignAnswer => ({ status, body, ...(type ? { type } : {}) });

const isAnswer = (value: unknown): value is ForeignAnswer =>
  typeof value === 'object' && value !== null && 'status' in value && typeof value.status === 'number' && 'body' in value;

export class ForeignService {
  readonly requests: ForeignRequest[] = [];
  readonly routes: ForeignRoutes;
  readonly #server: http.Server;

  private constructor(routes: ForeignRoutes, unknownRoute: UnknownRoute) {
    this.routes = routes;
    this.#server = http.createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', async () => {
        const { pathname, searchParams } = new URL(request.url ?? '', 'http://foreign');
        const text = Buffer.concat(chunks).toString();
        const recordedRequest: ForeignRequest = {
          method: request.method ?? '',
          path: pathname,
          query: searchParams,
          headers: request.headers,
          body: request.headers['content-type']?.startsWith('application/json') && text !== '' ? JSON.parse(text) : undefined,
        };
        this.requests.push(recordedRequest);
        const answer = (await this.#answer(recordedRequest)) ?? unknownRoute(recordedRequest);
        const body = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
        response.writeHead(answer.status, { 'content-type': answer.type ?? 'application/json' }).end(answer.status === 204 ? '' : body);
      });
    });
  }

  static async start(routes: ForeignRoutes, unknownRoute: UnknownRoute = asFastify): Promise<ForeignService> {
    const service = new ForeignService(routes, unknownRoute);
    await new Promise<void>((resolve) => service.#server.listen(0, '127.0.0.1', resolve));
    whenDone(() => service.close());
    return service;
  }

  async #answer(request: ForeignRequest): Promise<ForeignAnswer | undefined> {
    for (const [pattern, answer] of Object.entries(this.routes)) {
      const match = new RegExp(`^${pattern.replace(/:\w+/g, '([^/]+)')}$`).exec(`${request.method} ${request.path}`);
      if (!match) continue;
      const value = await answer(request, ...match.slice(1));
      return isAnswer(value) ? value : { status: 200, body: value };
    }
    return undefined;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as net.AddressInfo).port}`;
  }

  /** How a command uses this service, in a folder of its own. @param team the ID of the team */
  optionsIn(cwd: string, team: string): { cwd: string; env: Record<string, string> } {
    return { cwd, env: { ...folderEnv(cwd), AOPS_API_KEY: 'foreign-key', AOPS_BASE_URL: this.url, AOPS_TEAM_ID: team } };
  }

  /** `POST /v2/...` of each request so far. */
  get requestedPaths(): string[] {
    return this.requests.map(({ method, path }) => `${method} ${path}`);
  }

  /** The requests to a path. */
  bodies(method: string, path: string): unknown[] {
    return this.requests.filter((request) => request.method === method && request.path === path).map(({ body }) => body);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
