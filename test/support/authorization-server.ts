/**
 * An OAuth 2.1 authorization server for MCP servers on this machine: metadata, dynamic registration, authorization with PKCE, which
 * is verified, and tokens that are renewed with single-use refresh tokens.
 */
import { createHash, randomBytes } from 'node:crypto';
import http from 'node:http';
import type net from 'node:net';
import type { McpServer } from './mcp-server.ts';

interface Grant {
  client: string;
  challenge: string;
  redirect: string;
  resource: string | null;
  scope: string;
}

export class AuthorizationServer {
  readonly clients: Record<string, unknown>[] = [];
  readonly forms: Record<string, string>[] = [];
  /** The valid access tokens. */
  readonly tokens = new Set<string>();
  /** Merged into the metadata; undefined removes a member. */
  metadata: Record<string, unknown> = {};
  expiresIn: number | undefined = 3_600;
  /** Handles token requests instead of the server if it returns true. */
  refuseTokens: (response: http.ServerResponse) => boolean = () => false;
  /** What happens elsewhere before tokens are sent. */
  beforeTokens: () => Promise<void> = async () => undefined;
  readonly #codes = new Map<string, Grant>();
  readonly #refresh = new Map<string, Grant>();
  readonly #http: http.Server;

  private constructor() {
    this.#http = http.createServer((request, response) => void this.#answer(request, response));
  }

  static async start(): Promise<AuthorizationServer> {
    const server = new AuthorizationServer();
    await new Promise<void>((resolve) => server.#http.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as net.AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#http.closeAllConnections();
    await new Promise((resolve) => this.#http.close(resolve));
  }

  /**
   * Makes an MCP server accept the tokens of this server, and say so in its metadata.
   * @param scope the one that the server requires, or null if it does not say
   */
  protect(server: McpServer, { scope = 'tickets:write', resource = server.url }: { scope?: string | null; resource?: string } = {}): void {
    server.guard = (request, response) => {
      if (request.url === '/.well-known/oauth-protected-resource/mcp') {
        json(response, 200, { resource, authorization_servers: [this.url], scopes_supported: ['tickets:read', 'tickets:write'] });
        return true;
      }
      const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
      if (token !== undefined && this.tokens.has(token)) return false;
      const metadata = `${server.origin}/.well-known/oauth-protected-resource/mcp`;
      response
        .writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${metadata}"${scope === null ? '' : `, scope="${scope}"`}` })
        .end();
      return true;
    };
  }

  async #answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.url);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    switch (pathname) {
      case '/.well-known/oauth-authorization-server':
        return json(response, 200, {
          issuer: this.url,
          authorization_endpoint: `${this.url}/authorize`,
          token_endpoint: `${this.url}/token`,
          registration_endpoint: `${this.url}/register`,
          response_types_supported: ['code'],
          grant_types_supported: ['authorization_code', 'refresh_token'],
          code_challenge_methods_supported: ['S256'],
          token_endpoint_auth_methods_supported: ['none'],
          authorization_response_iss_parameter_supported: true,
          scopes_supported: ['tickets:read', 'tickets:write', 'offline_access'],
          ...this.metadata,
        });
      case '/register': {
        const client = { ...(JSON.parse(body) as object), client_id: `client-${this.clients.length + 1}` };
        this.clients.push(client);
        return json(response, 201, client);
      }
      case '/authorize':
        return this.#authorize(searchParams, response);
      case '/token':
        await this.beforeTokens();
        if (this.refuseTokens(response)) return;
        return this.#token(Object.fromEntries(new URLSearchParams(body)), response);
      default:
        response.writeHead(404).end();
    }
  }

  /** Approves the request on behalf of the person, or denies it if the request was changed to ask for that. */
  #authorize(query: URLSearchParams, response: http.ServerResponse): void {
    const redirect = query.get('redirect_uri') as string;
    const knownClient = this.clients.find(({ client_id }) => client_id === query.get('client_id'));
    const isRefused =
      query.get('response_type') !== 'code' ||
      query.get('code_challenge_method') !== 'S256' ||
      !(knownClient?.redirect_uris as string[] | undefined)?.includes(redirect);
    if (isRefused) return void response.writeHead(400).end();
    const returnUrl = new URL(redirect);
    returnUrl.searchParams.set('state', query.get('state') as string);
    returnUrl.searchParams.set('iss', this.url);
    if (query.has('deny')) returnUrl.searchParams.set('error', 'access_denied');
    else {
      const code = randomBytes(16).toString('hex');
      const [client, challenge] = [query.get('client_id') as string, query.get('code_challenge') as string];
      this.#codes.set(code, { client, challenge, redirect, resource: query.get('resource'), scope: query.get('scope') ?? '' });
      returnUrl.searchParams.set('code', code);
    }
    response.writeHead(302, { location: returnUrl.href }).end();
  }

  #token(form: Record<string, string>, response: http.ServerResponse): void {
    this.forms.push(form);
    const { code = '', refresh_token: refresh = '', code_verifier: verifier = '' } = form;
    const grant = this.#codes.get(code) ?? this.#refresh.get(refresh);
    const fromCode = this.#codes.delete(code);
    this.#refresh.delete(refresh);
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const right =
      grant !== undefined &&
      grant.client === form.client_id &&
      (form.resource ?? null) === grant.resource &&
      (!fromCode || (grant.challenge === challenge && grant.redirect === form.redirect_uri));
    if (!right) {
      json(response, 400, { error: 'invalid_grant' });
      return;
    }
    const access = `at-${randomBytes(16).toString('hex')}`;
    const next = `rt-${randomBytes(16).toString('hex')}`;
    this.tokens.add(access);
    this.#refresh.set(next, grant);
    const life = this.expiresIn === undefined ? {} : { expires_in: this.expiresIn };
    json(response, 200, { access_token: access, token_type: 'Bearer', refresh_token: next, scope: grant.scope, ...life });
  }
}

const json = (response: http.ServerResponse, status: number, body: unknown): void =>
  void response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(JSON.stringify(body));
