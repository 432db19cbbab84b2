/** A remote MCP server on this machine, written with the official libraries: for both versions of the protocol, or only the older one with sessions. */
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import type net from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { Server as LegacyServer } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createMcpHandler, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';

interface ToolResult {
  [key: string]: unknown;
  content: { type: 'text'; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
}
type Call = { name: string; arguments?: Record<string, unknown> | undefined };

const text = (words: string): ToolResult['content'] => [{ type: 'text', text: words }];
const tools = [
  {
    name: 'create_ticket',
    description: 'Creates a ticket',
    inputSchema: { type: 'object' as const, properties: { title: { type: 'string' } }, required: ['title'] },
  },
  { name: 'json_text', description: 'Answers with JSON in a text', inputSchema: { type: 'object' as const } },
  { name: 'fail', description: 'Fails', inputSchema: { type: 'object' as const } },
  { name: 'hang', inputSchema: { type: 'object' as const } },
  { name: 'huge', description: 'Answers with far too much text', inputSchema: { type: 'object' as const } },
  { name: 'picture', inputSchema: { type: 'object' as const } },
];

export class McpServer {
  /** The arguments of all tool calls. */
  readonly calls: Call[] = [];
  readonly methods: string[] = [];
  readonly sessions = new Map<string, StreamableHTTPServerTransport>();
  endCount = 0;
  /** Handles a request instead of the server if it returns true. */
  guard: (request: http.IncomingMessage, response: http.ServerResponse) => boolean = () => false;
  readonly #http: http.Server;
  readonly #legacy: boolean;

  private constructor(era: 'both' | 'legacy') {
    this.#legacy = era === 'legacy';
    const modernHandler = toNodeHandler(createMcpHandler(() => this.#server()));
    this.#http = http.createServer((request, response) => {
      this.methods.push(request.method ?? '');
      if (this.guard(request, response)) return;
      void (this.#legacy ? this.#answerLegacy(request, response) : modernHandler(request, response));
    });
  }

  static async start(era: 'both' | 'legacy' = 'both'): Promise<McpServer> {
    const server = new McpServer(era);
    await new Promise<void>((resolve) => server.#http.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#http.address() as net.AddressInfo).port}`;
  }

  get url(): string {
    return `${this.origin}/mcp`;
  }

  /** Accepts only requests with this header. */
  require(name: string, value: () => string | undefined, challenge = 'Bearer'): void {
    this.guard = (request, response) => {
      if (request.headers[name] === value()) return false;
      response.writeHead(401, { 'www-authenticate': challenge }).end();
      return true;
    };
  }

  async close(): Promise<void> {
    this.#http.closeAllConnections();
    await new Promise((resolve) => this.#http.close(resolve));
  }

  async #call(call: Call): Promise<ToolResult> {
    this.calls.push(call);
    switch (call.name) {
      case 'create_ticket': {
        const ticket = { id: `T-${this.calls.length}`, title: call.arguments?.title };
        return { content: text(`Created ${ticket.id}`), structuredContent: ticket };
      }
      case 'json_text':
        return { content: text('{"open": 3}') };
      case 'fail':
        return { content: text('There is no such queue.'), isError: true };
      case 'fail_silently':
        return { content: text(' '), isError: true };
      case 'hang':
        return new Promise(() => undefined);
      case 'huge':
        return { content: text('x'.repeat(5 * 1024 * 1024)) };
      case 'picture':
        return { content: [{ type: 'image', data: 'aGVsbG8=', mimeType: 'image/png' }] as never };
      default:
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool ${call.name}`);
    }
  }

  #server(): Server {
    const server = new Server({ name: 'tickets', version: '1' }, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/list', () => ({ tools }));
    server.setRequestHandler('tools/call', ({ params }) => this.#call(params as Call));
    return server;
  }

  async #answerLegacy(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const id = request.headers['mcp-session-id'] as string | undefined;
    let transport = id === undefined ? undefined : this.sessions.get(id);
    if (id !== undefined && transport === undefined) return void response.writeHead(404).end();
    if (transport === undefined) {
      const openedTransport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (session) => void this.sessions.set(session, openedTransport),
        onsessionclosed: (session) => {
          this.sessions.delete(session);
          this.endCount += 1;
        },
      });
      const server = new LegacyServer({ name: 'tickets', version: '1' }, { capabilities: { tools: {} } });
      server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
      server.setRequestHandler(CallToolRequestSchema, ({ params }) => this.#call(params as Call));
      await server.connect(openedTransport as Transport);
      transport = openedTransport;
    }
    await transport.handleRequest(request, response);
  }
}
