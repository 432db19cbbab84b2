import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { AuthorizationServer } from '../support/authorization-server.ts';
import { McpServer } from '../support/mcp-server.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { afterTest, whenDone } from '../support/temporary.ts';

const unknownId = '00000000-0000-4000-8000-000000000000';
const secret = 'sk-live-0123456789abcdef';

let service: TestService;
let server: McpServer;
beforeAll(async () => {
  service = await startTestService();
  server = await McpServer.start();
  whenDone(() => server.close());
  await service.file('key.txt', `${secret}\n`);
});

async function createConnection(name: string, ...flags: string[]): Promise<string> {
  const result = await service.cli(['connections', 'create', name, '--url', server.url, ...flags, '-o', 'id']);
  expect(result).toMatchObject({ code: 0, stderr: '' });
  return result.stdout.trim();
}

describe('connections create, list, get, update and delete', () => {
  it('manage a connection', async () => {
    const id = await createConnection('life', '--header', 'X-Api-Key=@key.txt', '--plain-header', 'X-Team=blue', '--type', 'crm');
    const table = await service.cli(['connections', 'get', 'life', '--color', 'never'], { tty: true });
    expect(table).toMatchObject({ code: 0, stderr: '' });
    expect(table.stdout).toMatch(/Name: +life\n/);
    expect(table.stdout).toMatch(/Status: +ready\nAuth: +headers\nHeaders: +X-Team: blue, X-Api-Key: \(secret\)\nType: +crm\n/);
    const list = await service.cli(['connections', 'list', '--type', 'crm', '--color', 'never'], { tty: true, columns: 120 });
    expect(list.stdout).toMatch(new RegExp(`ID +STATUS +NAME +AUTH +URL\n${id} +ready +life +headers +${server.url}\n`));
    const update = async (...flags: string[]) => {
      const result = await service.cli(['connections', 'update', 'life', ...flags, '--json']);
      expect(result).toMatchObject({ code: 0, stderr: '' });
      return result.json().headers;
    };
    expect(await update('--plain-header', 'x-team=red')).toEqual({ plaintext: { 'x-team': 'red' }, secret: { 'X-Api-Key': '' } });
    expect(await update('--header', 'X-Other=@key.txt', '--remove-header', 'X-Team')).toEqual({
      plaintext: {},
      secret: { 'X-Api-Key': '', 'X-Other': '' },
    });
    expect(await update('--replace-headers', '--plain-header', 'A=b')).toEqual({ plaintext: { A: 'b' }, secret: {} });
    expect((await service.cli(['connections', 'delete', 'life'])).code).toBe(2);
    const deleteResult = await service.cli(['connections', 'delete', 'life', '--yes']);
    expect(deleteResult).toMatchObject({ code: 0, stdout: 'Deleted the connection life.\n', stderr: '' });
    expect((await service.cli(['connections', 'get', id])).code).toBe(3);
    expect((await service.cli(['connections', 'get', 'life'])).code).toBe(3);
  });

  it.each([
    ['an invalid URL', ['create', 'a', '--url', 'nonsense'], 2, '--url'],
    ['a host that may not be reached', ['create', 'a', '--url', 'http://10.1.2.3/'], 2, '--allow-connection-host 10.1.2.3'],
    ['a secret as an argument', ['create', 'a', '--url', 'http://127.0.0.1/', '--header', `X-Key=${secret}`], 2, '@FILE'],
    ['a secret that nobody can be asked for', ['create', 'a', '--url', 'http://127.0.0.1/', '--header', 'X-Key'], 2, '@FILE'],
    ['a missing file', ['create', 'a', '--url', 'http://127.0.0.1/', '--header', 'X-Key=@no.txt'], 2, 'no.txt'],
    ['an invalid header', ['create', 'a', '--url', 'http://127.0.0.1/', '--plain-header', 'X Key=1'], 2, 'X Key'],
    ['a header without a value', ['create', 'a', '--url', 'http://127.0.0.1/', '--plain-header', 'X-Key'], 2, 'NAME=VALUE'],
    ['the same header twice', ['probe', '--url', 'http://127.0.0.1/', '--plain-header', 'A=1', '--header', 'a=@key.txt'], 2, 'twice'],
    ['nothing to change', ['update', unknownId], 2, 'nothing to change'],
    ['two ways to say it', ['update', unknownId, '--replace-headers', '--remove-header', 'A'], 2, '--replace-headers'],
    ['an unknown connection', ['update', unknownId, '--name', 'b'], 3, unknownId],
    ['an unknown name', ['tools', 'nobody'], 3, 'nobody'],
    ['nothing to try', ['probe'], 2, '--url'],
    ['two things to try', ['probe', 'a', '--url', 'http://127.0.0.1/'], 2, '--url'],
    ['headers of a connection', ['probe', 'a', '--plain-header', 'A=1'], 2, 'its own headers'],
  ])('reject %s', async (_, argv, code, word) => {
    const refusal = await service.cli(['connections', ...argv]);
    expect(refusal).toMatchObject({ code, stdout: '' });
    expect(refusal.stderr).toContain(word);
    expect(refusal.stderr).not.toContain(secret);
  });

  it('accept an ID where a name is ambiguous', async () => {
    const ids = [await createConnection('twin'), await createConnection('twin')];
    const refusal = await service.cli(['connections', 'get', 'twin']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    for (const id of ids) {
      expect(refusal.stderr).toContain(id);
      await service.cli(['connections', 'delete', id, '--yes']);
    }
  });

  it('suggest similar names, and warn about secrets in plain headers', async () => {
    const createResult = await service.cli(['connections', 'create', 'ticket-desk', '--url', server.url, '--plain-header', 'X-Api-Key=k']);
    expect(createResult.code).toBe(0);
    expect(createResult.stderr).toContain('X-Api-Key is visible to everyone who can see the connection. Use --header for secrets.');
    const refusal = await service.cli(['connections', 'get', 'ticket-dsk']);
    expect(refusal.code).toBe(3);
    expect(refusal.stderr).toContain('hint: Did you mean ticket-desk?');
    await service.cli(['connections', 'delete', 'ticket-desk', '--yes']);
  });

  it('reject removing a header that does not exist', async () => {
    await createConnection('bare');
    const refusal = await service.cli(['connections', 'update', 'bare', '--remove-header', 'X-Team']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('bare has no header X-Team');
  });

  it('reveal no secret in a dry run, a trace or the journal of changes', async () => {
    const argv = ['connections', 'create', 'dry', '--url', server.url, '--header', 'X-Api-Key=-'];
    const dryRunResult = await service.cli([...argv, '--dry-run'], { stdin: secret });
    expect(dryRunResult.code).toBe(0);
    expect(dryRunResult.json()).toMatchObject({ body: { headers: { secret: { 'X-Api-Key': '***' } } } });
    const traceResult = await service.cli([...argv, '--debug'], { stdin: secret });
    expect(traceResult.code).toBe(0);
    expect(dryRunResult.stdout + dryRunResult.stderr + traceResult.stdout + traceResult.stderr).not.toContain(secret);
    // The service receives the change and its answer is lost, so that a change without a secret would stay in the journal.
    const silentServer = createServer((request) => request.resume().once('end', () => request.socket.destroy()));
    afterTest(() => new Promise((resolve) => silentServer.close(resolve)));
    silentServer.listen(0, '127.0.0.1');
    await once(silentServer, 'listening');
    const url = `http://127.0.0.1:${(silentServer.address() as AddressInfo).port}`;
    const lossResult = await service.cli([...argv], { stdin: secret, env: { AOPS_BASE_URL: url } });
    expect(lossResult.code).toBe(13);
    const files = (await readdir(service.folder, { recursive: true })).filter((name) => name.endsWith('.json'));
    for (const file of files) {
      const text = await readFile(path.join(service.folder, file), 'utf8');
      expect(text).not.toContain(secret);
      expect(text).not.toContain(Buffer.from(secret).toString('base64').slice(0, 20));
    }
  });
});

describe('connections probe and tools', () => {
  it('list the tools of a server', async () => {
    const result = await service.cli(['connections', 'probe', '--url', server.url, '--color', 'never'], { tty: true });
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.stdout).toMatch(/^NAME +ARGUMENTS +DESCRIPTION\ncreate_ticket +title +Creates a ticket\n/);
    await createConnection('tickets');
    const tools = await service.cli(['connections', 'tools', 'tickets', '--jq', '.data[0].input_schema.required']);
    expect(JSON.parse(tools.stdout)).toEqual(['title']);
    expect((await service.cli(['connections', 'probe', 'tickets', '--json'])).json()).toMatchObject({ total: 6 });
  });

  it('describe a tool with its arguments', async () => {
    await createConnection('desk');
    const result = await service.cli(['connections', 'describe', 'desk', 'create_ticket']);
    expect(result).toMatchObject({ code: 0, stdout: 'Tool\tcreate_ticket\nDoes\tCreates a ticket\ntitle\tstring\ttrue\t\n', stderr: '' });
    expect((await service.cli(['connections', 'describe', 'desk', 'hang', '--json'])).json()).toMatchObject({ name: 'hang' });
    const refusal = await service.cli(['connections', 'describe', 'desk', 'create_tickets']);
    expect(refusal.code).toBe(3);
    expect(refusal.stderr).toContain('desk has no tool "create_tickets".\nhint: Did you mean create_ticket?');
  });

  it('report why a server cannot be used, and store it for a connection', async () => {
    server.require('x-api-key', () => secret);
    const failure = await service.cli(['connections', 'probe', '--url', server.url]);
    expect(failure).toMatchObject({ code: 1, stdout: '' });
    expect(failure.stderr).toContain('it refused the credentials (401)');
    const json = await service.cli(['connections', 'tools', 'tickets', '--json']);
    expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: 'mcp_server_failed', exit: 1 } });
    const result = await service.cli(['connections', 'get', 'tickets']);
    expect(result.stdout).toContain('Status\tbroken\nBroken because\tit refused the credentials (401)\n');
    const probeResult = await service.cli(['connections', 'probe', '--url', server.url, '--header', 'X-Api-Key=@key.txt', '-o', 'json']);
    expect(probeResult.code).toBe(0);
  });
});

describe('connections check-oauth and authorize', () => {
  let issuer: AuthorizationServer;
  let guardedServer: McpServer;
  beforeAll(async () => {
    [issuer, guardedServer] = [await AuthorizationServer.start(), await McpServer.start()];
    issuer.protect(guardedServer);
    whenDone(async () => void (await Promise.all([issuer.close(), guardedServer.close()])));
  });

  it('report how a server is authorized', async () => {
    const result = await service.cli(['connections', 'check-oauth', guardedServer.url, '--color', 'never'], { tty: true });
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.stdout).toBe(`Authorization: ${issuer.url}/authorize\nRegistration:  automatic\nScopes:        tickets:write\n`);
    await createConnection('open');
    expect((await service.cli(['connections', 'check-oauth', 'open', '--json'])).json()).toEqual({ supports_dcr: false });
    expect((await service.cli(['connections', 'check-oauth', 'http://127.0.0.1:9/mcp'])).code).toBe(2);
    expect((await service.cli(['connections', 'check-oauth', 'nobody'])).code).toBe(3);
  });

  it('wait until a person has agreed, and authorize again', async () => {
    const openings: Promise<unknown>[] = [];
    /** The person, who opens the URL as soon as it is printed. */
    const onOutput = (_: string, stderr: string): void => {
      const url = /Open this URL: (\S+)\n/.exec(stderr)?.[1];
      if (url !== undefined && openings.length === 0) openings.push(fetch(url));
    };
    const argv = ['connections', 'authorize', '--name', 'guarded', '--url', guardedServer.url, '--wait', '--json'];
    const finalResult = await service.cli(argv, { onOutput });
    expect(finalResult.code).toBe(0);
    const connection = finalResult.json<{ id: string }>();
    expect(connection).toMatchObject({ name: 'guarded', oauth_scopes: ['tickets:write', 'offline_access'] });
    expect((await service.cli(['connections', 'tools', 'guarded', '--jq', '.total'])).stdout).toBe('6\n');
    issuer.tokens.clear();
    issuer.refuseTokens = (response) => {
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}');
      return true;
    };
    expect((await service.cli(['connections', 'tools', 'guarded'])).code).toBe(1);
    issuer.refuseTokens = () => false;
    openings.length = 0;
    const repeatResult = await service.cli(['connections', 'authorize', 'guarded', '--wait', '--json'], { onOutput });
    expect(repeatResult.json()).toMatchObject({ id: connection.id });
    await Promise.all(openings);
  });

  it('print only the URL, and stop waiting at the timeout', async () => {
    const argv = ['connections', 'authorize', '--name', 'later', '--url', guardedServer.url];
    const printResult = await service.cli([...argv, '--jq', '.authorization_url']);
    expect(printResult.stdout).toContain(`${issuer.url}/authorize?`);
    expect(printResult.stderr).toBe('');
    expect((await service.cli([...argv, '--wait', '--timeout', '100ms'])).code).toBe(9);
  });

  it.each([
    ['nothing', [], 2, 'Specify exactly one thing'],
    ['two things', ['a', '--provider', 'google'], 2, 'Specify exactly one thing'],
    ['a server without a name', ['--url', 'http://127.0.0.1:9/mcp'], 2, '--name'],
    ['a missing provider', ['--provider', 'google'], 3, 'There is no provider google'],
    ['an unknown connection', ['nobody'], 3, 'nobody'],
    ['a host that may not be reached', ['--name', 'a', '--url', 'http://10.1.2.3/'], 2, '--allow-connection-host 10.1.2.3'],
  ])('reject authorizing %s', async (_, argv, code, word) => {
    const refusal = await service.cli(['connections', 'authorize', ...argv]);
    expect(refusal).toMatchObject({ code, stdout: '' });
    expect(refusal.stderr).toContain(word);
  });
});
