/** An OAuth 2.0 token endpoint for one client (RFC 6749, 4.4) that counts its requests. */
import http from 'node:http';
import type net from 'node:net';

export interface TokenGrant {
  status: number;
  body: unknown;
}

export class TokenEndpoint {
  readonly clientId = 'nightly job';
  readonly clientSecret = 'cs_S3cret/with:odd+signs%';
  /** The forms of the authenticated requests. */
  readonly forms: Record<string, string>[] = [];
  readonly userAgents: (string | undefined)[] = [];
  refusedCount = 0;
  /** The answers to the next requests, by their number from 1. */
  grant: (count: number) => TokenGrant = (count) => ({
    status: 200,
    body: { access_token: `at_${count}_abcdefghijkl`, token_type: 'bearer', expires_in: 3600 },
  });
  /** Milliseconds before the answer. */
  delay = 0;
  readonly #server: http.Server;

  private constructor() {
    this.#server = http.createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { status, body } = this.#answer(request.headers, Buffer.concat(chunks).toString());
        const answer = setTimeout(
          () => response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(JSON.stringify(body)),
          this.delay,
        );
        // The client may have disconnected by then.
        response.once('close', () => clearTimeout(answer));
      });
    });
  }

  static async start(): Promise<TokenEndpoint> {
    const endpoint = new TokenEndpoint();
    await new Promise<void>((resolve) => endpoint.#server.listen(0, '127.0.0.1', resolve));
    return endpoint;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as net.AddressInfo).port}/oauth/token`;
  }

  /** The environment variables that sign in with it. */
  get env(): Record<string, string> {
    return { AOPS_CLIENT_ID: this.clientId, AOPS_CLIENT_SECRET: this.clientSecret, AOPS_TOKEN_URL: this.url };
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(headers: http.IncomingHttpHeaders, body: string): TokenGrant {
    const [id, secret] = Buffer.from(headers.authorization?.replace(/^Basic /, '') ?? '', 'base64')
      .toString()
      .split(':')
      .map((part) => new URLSearchParams(`v=${part}`).get('v'));
    if (id !== this.clientId || secret !== this.clientSecret) {
      this.refusedCount += 1;
      return { status: 401, body: { error: 'invalid_client', error_description: `not ${secret}` } };
    }
    this.userAgents.push(headers['user-agent']);
    this.forms.push(Object.fromEntries(new URLSearchParams(body)));
    return this.grant(this.forms.length);
  }
}
