/** The candidates of completion: JSON fields, values after `=`, and cached IDs and names. The shells are tested in test/e2e. */
import { readdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { remoteSources } from '../../src/cli/picking/sources.ts';
import { CompletionCache } from '../../src/commands/completion/cache.ts';
import { runCli } from '../support/run-cli.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

let service: TestService;
let run: string;
let page: string;
beforeAll(async () => {
  service = await startTestService();
  await service.agent('- say: hi', 'greeter');
  await service.cli(['connections', 'create', 'crm', '--url', 'http://127.0.0.1:9/mcp']);
  page = (await service.cli(['artifacts', 'create', 'title Week; runs', '--watch', '-o', 'id'])).stdout.trim();
  await service.agent('- say: hi', 'über agent; rm -rf ~');
  run = await service.run('- say: hi', 'March');
  for (const source of Object.keys(remoteSources))
    expect(await service.cli(['__refresh', source])).toMatchObject({ code: 0, stdout: '', stderr: '' });
});

const offers = async (...words: string[]): Promise<string[]> => {
  const { code, stdout, stderr } = await service.cli(['__complete', '--', ...words]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout.split('\n').slice(0, -1);
};
const wordsOf = async (...words: string[]): Promise<string[]> => (await offers(...words)).map((line) => line.split('\t')[0] as string);

describe('completion', () => {
  it('offers cached IDs and names', async () => {
    expect(await wordsOf('runs', 'get', '')).toEqual(['@latest', '1']);
    expect(await offers('runs', 'get', '1')).toEqual([expect.stringMatching(/^1\t\S+ {2}.*: March$/)]);
    expect(await offers('runs', 'get', run.slice(0, 3))).toEqual([expect.stringMatching(new RegExp(`^${run}\\t\\S+  .*: March$`))]);
    expect(await wordsOf('agents', 'get', 'gr')).toEqual(['greeter']);
    expect(await wordsOf('connections', 'get', '')).toEqual(['crm']);
    expect(await offers('artifacts', 'get', '')).toEqual(['@latest\tthe newest artifact', `${page}\tcompleted  Week`]);
    expect(await wordsOf('runs', 'list', '--agent', 'über')).toEqual(['über agent; rm -rf ~']);
  });

  it('keeps the words of teams, profiles and credentials separate', async () => {
    const otherId = '00000000-0000-4000-8000-00000000000b';
    expect(await wordsOf('--team', otherId, 'agents', 'get', '')).toEqual([]);
    expect(await wordsOf('agents', 'get', '--base-url', 'http://127.0.0.1:9', '')).toEqual([]);
    const refusal = await service.cli(['__complete', '--', 'agents', 'get', ''], { env: { AOPS_API_KEY: 'somebody-else-here' } });
    expect(refusal).toMatchObject({ code: 0, stdout: '', stderr: '' });
  });

  it('offers nothing without a credential or with a broken configuration', async () => {
    const anonymousResult = await service.cli(['__complete', '--', 'agents', 'get', ''], { env: { AOPS_API_KEY: '' } });
    expect(anonymousResult).toMatchObject({ code: 0, stdout: '', stderr: '' });
    expect((await service.cli(['__complete', '--', 'agents', 'get', '--profile', 'nowhere', ''])).stdout).toBe('');
  });

  it('offers JSON fields one by one', async () => {
    expect(await wordsOf('runs', 'list', '--fields', 'agent')).toEqual(['agent_id', 'agent_name']);
    expect(await wordsOf('runs', 'list', '--fields', 'id,agent')).toEqual(['id,agent_id', 'id,agent_name']);
    expect(await wordsOf('runs', 'list', '--fields', 'agent_id,agent')).toEqual(['agent_id,agent_name']);
    expect(await wordsOf('serve', '--fields', '')).toEqual([]);
  });

  it('completes values after an equals sign in the form of each shell', async () => {
    expect(await wordsOf('runs', 'list', '--sort-order=')).toEqual(['--sort-order=asc', '--sort-order=desc']);
    expect(await wordsOf('runs', 'list', '--sort-order=d')).toEqual(['--sort-order=desc']);
    expect(await wordsOf('runs', 'list', '--sort-order', '=', 'd')).toEqual(['desc']);
    expect(await wordsOf('runs', 'list', '--sort-order', '=')).toEqual(['asc', 'desc']);
  });

  it('offers shells', async () => {
    expect(await wordsOf('completion', '')).toEqual(['bash', 'zsh', 'fish', 'powershell']);
  });

  it('completes commands and topics after help', async () => {
    expect(await wordsOf('help', 'web')).toEqual(['webhooks']);
    expect(await offers('help', 'form')).toEqual(['formatting\tOutput formats, fields, filters, colour, and width']);
    expect(await wordsOf('help', 'webhooks', 'secret', '')).toEqual(['show', 'rotate']);
    expect(await wordsOf('help', 'runs', 'list', '')).toEqual([]);
  });

  it('offers revisions by agent, and revision numbers once the agent is complete', async () => {
    expect(await wordsOf('revisions', 'get', 'gre')).toEqual(['greeter@live', 'greeter@latest']);
    expect(await wordsOf('revisions', 'diff', 'greeter@')).toEqual(['greeter@live', 'greeter@latest', 'greeter@1']);
    expect(await offers('revisions', 'get', 'greeter@1')).toEqual(['greeter@1\trevision 1']);
  });

  it('offers words that belong to the agent or queue of the line', async () => {
    await service.cli(['queues', 'create', 'bills']);
    await service.cli(['queues', 'labels', 'create', 'bills', 'vendor=acme']);
    const createResult = await service.cli(['agents', 'schedules', 'create', 'greeter', '--frequency', 'daily', '-o', 'id']);
    await service.cli(['agents', 'rubrics', 'create', 'greeter', 'Says hi', '--description', 'The final message contains "hi".']);
    for (const [source, owner] of [
      ['labels', 'bills'],
      ['schedules', 'greeter'],
      ['rubrics', 'greeter'],
    ] as const)
      expect(await service.cli(['__refresh', source, owner])).toMatchObject({ code: 0, stdout: '', stderr: '' });
    expect(await wordsOf('queues', 'labels', 'delete', 'bills', '')).toEqual(['vendor=acme']);
    expect(await wordsOf('cases', 'list', 'bills', '--label', 'v')).toEqual(['vendor=acme']);
    expect(await wordsOf('cases', 'search', 'bills', '--label', 'v')).toEqual(['vendor=acme']);
    expect(await offers('agents', 'schedules', 'get', 'greeter', '')).toEqual([`${createResult.stdout.trim()}\tevery day at 09:00`]);
    expect(await wordsOf('agents', 'rubrics', 'update', 'greeter', '')).toEqual(['says-hi']);
  });

  it('is complete even if the reader takes only a part of it at a time', async () => {
    const whole = await runCli(['completion', 'bash']);
    const taken: string[] = [];
    const writeDirectly = (bytes: Uint8Array): number => {
      if (taken.length === 2) throw new Error('EAGAIN');
      taken.push(Buffer.from(bytes.subarray(0, 100)).toString());
      return 100;
    };
    const { code, stdout } = await runCli(['completion', 'bash'], { writeDirectly });
    expect({ code, stdout: taken.join('') + stdout }).toEqual({ code: 0, stdout: whole.stdout });
    expect(taken.map(({ length }) => length)).toEqual([100, 100]);
  });

  it('keeps each candidate on its own line', async () => {
    const create = ['queues', 'create', 'receipts', '--description', 'Bills\nrm -rf ~\tnothing'];
    expect(await service.cli(create)).toMatchObject({ code: 0 });
    expect(await service.cli(['__refresh', 'queues'])).toMatchObject({ code: 0 });
    expect(await offers('queues', 'get', 'rec')).toEqual(['receipts\tBills rm -rf ~ nothing']);
  });

  it('completes what an alias stands for, and files for other programs', async () => {
    const aliases = { mine: 'runs list --status', nested: 'mine waiting', listing: '!ls -l', first: 'runs get $1' };
    for (const [name, expansion] of Object.entries(aliases))
      expect(await service.cli(['alias', 'set', name, expansion])).toMatchObject({ code: 0 });
    expect(await wordsOf('mine', 'wai')).toEqual(['waiting']);
    expect(await wordsOf('--quiet', '--output', 'json', 'mine', 'wai')).toEqual(['waiting']);
    expect(await offers('listing', '')).toEqual([':files']);
    // Its argument is missing.
    expect(await offers('first', '')).toEqual([]);
    expect(await offers('nested', '')).toEqual([]);
    expect(await offers('no-such-command', '')).toEqual([]);
    expect(await wordsOf('alias', 'delete', '')).toEqual(Object.keys(aliases));
  });

  it('offers the names of profiles', async () => {
    const login = ['auth', 'login', '--profile', 'elsewhere', '--base-url', service.service.url, '--team', service.service.teamId];
    expect(await service.cli(login, { stdin: service.service.token })).toMatchObject({ code: 0 });
    expect(await offers('--profile', 'else')).toEqual([`elsewhere\t${service.service.url}`]);
  });

  it('never offers hidden commands', async () => {
    expect(await wordsOf('__')).toEqual([]);
  });

  it('rejects an unknown source', async () => {
    expect(await service.cli(['__refresh', 'nothing'])).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('the cache of completion', () => {
  const minute = 60_000;
  const now = Date.now();

  it('is fresh for a short time, offered for an hour, and private', async () => {
    const folder = await temporaryFolder();
    const cache = new CompletionCache(folder, 'runs', ['a']);
    expect(await cache.read(now)).toEqual({ words: [], fresh: false });
    await cache.write([['x', 'y']], now);
    expect(await cache.read(now + 1_000)).toEqual({ words: [['x', 'y']], fresh: true });
    expect(await cache.read(now + minute)).toEqual({ words: [['x', 'y']], fresh: false });
    expect(await cache.read(now + 61 * minute)).toEqual({ words: [], fresh: false });
    expect(await cache.read(now - minute)).toEqual({ words: [], fresh: false });
    const [file] = await readdir(path.join(folder, 'completion'));
    expect((await stat(path.join(folder, 'completion', file as string))).mode & 0o077).toBe(0);
    expect(await new CompletionCache(folder, 'runs', ['b']).read(now)).toEqual({ words: [], fresh: false });
  });

  it('is updated by one process at a time', async () => {
    const now = Date.now();
    const folder = await temporaryFolder();
    const [firstCache, otherCache] = [new CompletionCache(folder, 'runs', ['a']), new CompletionCache(folder, 'runs', ['a'])];
    expect(await Promise.all([firstCache.claim(now), otherCache.claim(now)]).then((claims) => claims.filter(Boolean))).toHaveLength(1);
    expect(await otherCache.claim(now + 1_000)).toBe(false);
    // The other process has apparently been killed.
    expect(await otherCache.claim(now + minute)).toBe(true);
    await firstCache.write([], now);
    expect(await firstCache.claim(now)).toBe(true);
  });

  it('ignores a damaged file', async () => {
    const folder = await temporaryFolder();
    const cache = new CompletionCache(folder, 'agents', ['a']);
    await cache.write([['x', 'y']], now);
    const [file] = await readdir(path.join(folder, 'completion'));
    for (const text of ['', '{', '{"v":1}', '{"v":1,"at":0,"words":5}', `{"v":1,"at":${now},"words":[["x"]]}`]) {
      await writeFile(path.join(folder, 'completion', file as string), text);
      expect(await cache.read(now)).toEqual({ words: [], fresh: false });
    }
  });

  it('is skipped silently if it cannot be written', async () => {
    const folder = await temporaryFolder();
    await writeFile(path.join(folder, 'completion'), 'in the way');
    expect(await new CompletionCache(folder, 'runs', ['a']).claim(now)).toBe(false);
  });
});
