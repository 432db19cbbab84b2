/** A server of git repositories over HTTP: the backend of git itself, behind a server of Node. */
import { spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gitEnvironment } from './repository.ts';
import { whenDone } from './temporary.ts';

export interface GitServer {
  /** `http://127.0.0.1:PORT`; each folder below the root is a repository. */
  url: string;
  port: number;
  /** The paths that were requested. */
  requests: string[];
}

/** @param answers responses for the beginnings of paths, instead of repositories */
export async function startGitServer(
  root: string,
  answers: Readonly<Record<string, (response: ServerResponse) => void>> = {},
): Promise<GitServer> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const target = request.url ?? '/';
    requests.push(target);
    const own = Object.entries(answers).find(([start]) => target.startsWith(start));
    if (own) own[1](response);
    else backend(root, request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  whenDone(() => new Promise((resolve) => server.close(resolve)));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, requests };
}

/** git-http-backend(1), called as RFC 3875 describes. */
function backend(root: string, request: IncomingMessage, response: ServerResponse): void {
  const [path = '', query = ''] = (request.url ?? '').split('?');
  const header = (name: string): string => [request.headers[name] ?? ''].flat()[0] as string;
  const child = spawn('git', ['http-backend'], {
    env: {
      ...gitEnvironment,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: decodeURIComponent(path),
      REQUEST_METHOD: request.method ?? 'GET',
      QUERY_STRING: query,
      CONTENT_TYPE: header('content-type'),
      HTTP_CONTENT_ENCODING: header('content-encoding'),
      GIT_PROTOCOL: header('git-protocol'),
      REMOTE_ADDR: '127.0.0.1',
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  request.pipe(child.stdin);
  child.stdin.on('error', () => undefined);
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.once('close', () => {
    const output = Buffer.concat(chunks);
    const end = output.indexOf('\r\n\r\n');
    const lines = output.subarray(0, end).toString('latin1').split('\r\n');
    const headers = lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()] as const);
    const status = Number(headers.find(([name]) => name === 'Status')?.[1]?.slice(0, 3) ?? 200);
    response.writeHead(status, Object.fromEntries(headers.filter(([name]) => name !== 'Status')));
    response.end(output.subarray(end + 4));
  });
}
