import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { misbehaving } from '../agents/installed.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { afterTest } from '../support/temporary.ts';

const secret = 'sk-live-0123456789abcdef';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.agent('- say: hi', 'fixer');
  await service.file('key.txt', `${secret}\n`);
});

const secrets = (...argv: string[]) => service.cli(['agents', 'secrets', ...argv]);
const names = async (agent: string): Promise<string[]> =>
  (await secrets('list', agent, '--json')).json<{ data: { name: string }[] }>().data.map(({ name }) => name);

describe('agents secrets', () => {
  it('stores, lists and deletes secrets', async () => {
    await service.agent('- say: hi', 'life');
    expect((await secrets('list', 'life')).stderr).toContain('The agent has no secrets.');
    const setResult = await secrets('set', 'life', 'API_KEY=@key.txt', 'A_TOKEN=@key.txt', '--json');
    expect(setResult).toMatchObject({ code: 0, stderr: '' });
    expect(setResult.json()).toMatchObject({ data: [{ name: 'API_KEY', updated_at: expect.any(String) }, { name: 'A_TOKEN' }] });
    const list = await service.cli(['agents', 'secrets', 'list', 'life', '--color', 'never'], { tty: true });
    expect(list.stdout).toMatch(/^NAME +UPDATED\nAPI_KEY +.+\nA_TOKEN +.+\n$/);
    expect((await secrets('delete', 'life', 'API_KEY')).code).toBe(2);
    expect(await secrets('delete', 'life', 'API_KEY', '--yes')).toMatchObject({ code: 0, stdout: 'Deleted the secret API_KEY.\n' });
    expect(await names('life')).toEqual(['A_TOKEN']);
    expect((await secrets('delete', 'life', 'API_KEY', '--yes')).code).toBe(3);
  });

  it('reads a value from standard input', async () => {
    for (const source of ['@-', '-']) {
      const result = await service.cli(['agents', 'secrets', 'set', 'fixer', `INPUT=${source}`], { stdin: `${secret}\n` });
      expect(result).toMatchObject({ code: 0, stderr: '' });
      expect(result.stdout).not.toContain(secret);
    }
  });

  it('warns about a value that is too short to be replaced in what the agent prints', async () => {
    await service.agent('- say: hi', 'short');
    await service.file('pin.txt', '1234567\n');
    const result = await secrets('set', 'short', 'PIN=@pin.txt', 'API_KEY=@key.txt');
    expect(result).toMatchObject({ code: 0, stderr: expect.stringContaining('PIN has fewer than 8 characters') });
    expect(result.stderr).not.toContain('API_KEY');
  });

  it.each([
    ['a value on the command line', ['fixer', `API_KEY=${secret}`], 'must be @FILE or @-'],
    ['a value without a name', ['fixer', secret], 'environment variable'],
    ['a name that starts with a digit', ['fixer', '2FA=@key.txt'], 'environment variable'],
    ['a name with an escape sequence', ['fixer', 'A\u001b[31m=@key.txt'], 'environment variable'],
    ['an empty name', ['fixer', '=@key.txt'], 'environment variable'],
    ['the same name twice', ['fixer', 'A=@key.txt', 'A=@key.txt'], 'appears twice'],
    ['two values from standard input', ['fixer', 'A=@-', 'B=-'], 'Only one secret'],
    ['a missing file', ['fixer', 'A=@no.txt'], 'no.txt cannot be read'],
    ['an empty value', ['fixer', 'A=@empty.txt'], 'is empty'],
    ['a value with a NUL character', ['fixer', 'A=@nul.txt'], 'NUL'],
    ['a value that is not UTF-8', ['fixer', 'A=@latin.txt'], 'not UTF-8'],
    ['a value that is too long', ['fixer', 'A=@long.txt'], 'longer than'],
    ['a prompt that cannot be displayed', ['fixer', 'A'], 'A=@FILE'],
  ])('rejects %s', async (_, argv, message) => {
    await service.file('empty.txt', '\n');
    await service.file('nul.txt', `${secret}\0`);
    await service.file('latin.txt', Buffer.from([0x61, 0xe9]));
    await service.file('long.txt', 'x'.repeat(65_537));
    const before = await names('fixer');
    const refusal = await secrets('set', ...argv);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain(message);
    expect(refusal.stderr).not.toContain(secret);
    expect(refusal.stderr).not.toContain('\u001b');
    expect(await names('fixer')).toEqual(before);
  });

  it('reveals no value in a dry run, a trace, curl or the journal of changes', async () => {
    const argv = ['agents', 'secrets', 'set', 'fixer', 'TRACED=@key.txt'];
    const dryRunResult = await service.cli([...argv, '--dry-run']);
    expect(dryRunResult.json()).toMatchObject({ method: 'POST', body: { name: 'TRACED', value: '***' } });
    expect(await names('fixer')).not.toContain('TRACED');
    const traceResult = await service.cli([...argv, '--debug']);
    expect(traceResult.code).toBe(0);
    expect(await names('fixer')).toContain('TRACED');
    for (const { stdout, stderr } of [dryRunResult, traceResult]) expect(stdout + stderr).not.toContain(secret);
    // The service receives the change and its answer is lost, so that a change without a secret would stay in the journal.
    const silentServer = createServer((request, response) => {
      if (request.method === 'GET') response.end(JSON.stringify({ agents: [], total: 0, limit: 1, offset: 0 }));
      else request.resume().once('end', () => request.socket.destroy());
    });
    afterTest(() => new Promise((resolve) => silentServer.close(resolve)));
    silentServer.listen(0, '127.0.0.1');
    await once(silentServer, 'listening');
    const url = `http://127.0.0.1:${(silentServer.address() as AddressInfo).port}`;
    const agent = '00000000-0000-4000-8000-000000000000';
    const lossResult = await service.cli(['agents', 'secrets', 'set', agent, 'A=@key.txt'], { env: { AOPS_BASE_URL: url } });
    expect(lossResult.code).toBe(13);
    expect(lossResult.stderr).not.toContain(secret);
    const files = (await readdir(service.folder, { recursive: true })).filter((name) => name.endsWith('.json'));
    for (const file of files) {
      const text = await readFile(path.join(service.folder, file), 'utf8');
      expect(text).not.toContain(secret);
      expect(text).not.toContain(Buffer.from(secret).toString('base64').slice(0, 20));
    }
  });

  it('gives a secret only to the agent whose definition lists it', async () => {
    const definition = JSON.stringify({ version: 1, command: misbehaving('environment'), secrets: ['API_KEY'] });
    await service.file('agent.yaml', definition);
    expect((await service.cli(['agents', 'create', 'reporter', '--procedure', 'agent.yaml', '--runtime', 'acp'])).code).toBe(0);
    expect((await secrets('set', 'reporter', 'UNLISTED_KEY=@key.txt')).code).toBe(0);
    const start = ['runs', 'start', '--agent', 'reporter', '--message', 'Report your environment.', '--watch'];
    const failure = await service.cli(start);
    expect(failure.code).not.toBe(0);
    expect(failure.stderr).toContain('aops agents secrets set reporter API_KEY=@FILE');
    expect((await secrets('set', 'reporter', 'API_KEY=@key.txt')).code).toBe(0);
    const success = await service.cli(start);
    expect(success).toMatchObject({ code: 0 });
    expect(success.stdout).toContain('"API_KEY"');
    expect(success.stdout).not.toContain('UNLISTED_KEY');
    expect(success.stdout + success.stderr).not.toContain(secret);
  });
});
