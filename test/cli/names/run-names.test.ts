/** Names of runs, in every command that accepts a run, with services that can look up runs and with some that cannot. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Argument, Option } from '../../../src/cli/kit/flags.ts';
import { flagName } from '../../../src/cli/kit/flags.ts';
import { parseRunName, runWord } from '../../../src/cli/names/run-names.ts';
import { loadAllCommands } from '../../../src/cli/program/describe.ts';
import { commandTree } from '../../../src/commands/index.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { whenDone } from '../../support/temporary.ts';

const uuid = (number: number, start = '00000000'): string => `${start}-0000-4000-8000-${String(number).padStart(12, '0')}`;

describe('parseRunName', () => {
  it.each([
    ['17', { kind: 'number', number: 17 }],
    ['1234567', { kind: 'number', number: 1_234_567 }],
    ['#17', { kind: 'number', number: 17 }],
    ['#12345678', { kind: 'number', number: 12_345_678 }],
    ['release#17', { kind: 'number', number: 17, agent: 'release' }],
    ['c# agent#3', { kind: 'number', number: 3, agent: 'c# agent' }],
    ['@latest', { kind: 'latest', back: 0 }],
    ['@latest~3', { kind: 'latest', back: 3 }],
    ['12345678', { kind: 'prefix', prefix: '12345678' }],
    ['0199ABCD-12', { kind: 'prefix', prefix: '0199abcd-12' }],
    [uuid(1).toUpperCase(), { kind: 'id', id: uuid(1) }],
  ])('understands %s', (text, name) => expect(parseRunName(text)).toEqual(name));

  it.each(['my-run', '0', '#0', '007', '-1', '1.5', 'abcdef', '@latest~', '@latest~-1', '@latest~x', '@newest', `${uuid(1)}0`, ' 17', '#'])(
    'refuses %j',
    (text) => expect(() => parseRunName(text)).toThrow('does not name a run'),
  );

  it('suggests @latest for latest', () => {
    expect(() => parseRunName('latest~2')).toThrow(expect.objectContaining({ hint: 'Did you mean @latest~2?' }));
    expect(() => parseRunName('newest')).toThrow(expect.objectContaining({ hint: expect.stringMatching(/^Use its number \(17\)/) }));
  });

  it('quotes an unusual ID from a service for the shell', () => {
    expect(runWord({ id: 'x;touch pasted', run_number: null })).toBe("'x;touch pasted'");
  });

  it('accepts every name that messages use for a run', () => {
    const numbers = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
    fc.assert(
      fc.property(numbers, (run_number) => {
        const word = runWord({ id: uuid(1), run_number });
        expect(parseRunName(word)).toEqual(run_number < 10_000_000 ? { kind: 'number', number: run_number } : { kind: 'id', id: uuid(1) });
      }),
    );
  });
});

const commands = await loadAllCommands(commandTree);

/** Every command that accepts a run, with valid values for its other required input. */
const takers = commands.flatMap(({ path, command }) => {
  const positional = Object.entries((command.arguments ?? {}) as Record<string, Argument>);
  const index = positional.findIndex(([name, { complete }]) => name === 'run' || complete === 'runs');
  const option = Object.entries((command.options ?? {}) as Record<string, Option>).find(([, { complete }]) => complete === 'runs');
  const name = path.join(' ');
  // It looks for a local service first; local-open.test.ts tests it.
  if (name === 'local open') return [];
  const before = (last: number): string[] => positional.slice(0, last).map(([, { check }]) => (check ? uuid(1) : 'x'));
  const after = positional.slice(index + 1).flatMap(([, { required, check }]) => (required ? [check ? uuid(1) : 'x'] : []));
  if (index >= 0) return [{ name, argv: (run: string) => [...path, ...before(index), run, ...after] }];
  return option === undefined ? [] : [{ name, argv: (run: string) => [...path, flagName(option[0]), run] }];
});

/** Further input that some of them require. */
const extraArguments: Record<string, string[]> = {
  'runs respond': ['--approve'],
  'sandbox pull': ['--to', 'out'],
  'sandbox diff': [],
};

let service: TestService;
let first: string;
let second: string;
beforeAll(async () => {
  service = await startTestService();
  const agent = await service.agent('- say: "Hello {{message}}"', 'greeter');
  first = await service.start(agent, 'one');
  await service.until(first, 'completed');
  second = await service.start(await service.agent('- say: bye', 'leaver'), 'two');
  await service.until(second, 'completed');
});

describe('every command that accepts a run', () => {
  it('is covered by this test', () =>
    expect(takers.map(({ name }) => name)).toEqual(expect.arrayContaining(['runs get', 'sandbox cat', 'cases messages'])));

  it.each(takers)('$name accepts a run by its number', async ({ name, argv }) => {
    const failure = await service.cli([...argv('#4711'), ...(extraArguments[name] ?? [])]);
    expect(failure).toMatchObject({ code: 3, stdout: '' });
    expect(failure.stderr).toContain('There is no run #4711.');
  });
});

describe('a run', () => {
  const findRun = async (name: string): Promise<string> => {
    const getResult = await service.cli(['runs', 'get', name, '-o', 'id']);
    expect(getResult).toMatchObject({ code: 0, stderr: '' });
    return getResult.stdout.trim();
  };

  it('is found by its number in the team', async () => {
    expect(await findRun('1')).toBe(first);
    expect(await findRun('#2')).toBe(second);
    expect(await findRun('leaver#2')).toBe(second);
  });

  it('is found by the number of runs after it', async () => {
    expect(await findRun('@latest')).toBe(second);
    expect(await findRun('@latest~0')).toBe(second);
    expect(await findRun('@latest~1')).toBe(first);
    const emptyResult = await service.cli(['runs', 'get', '@latest~2']);
    expect(emptyResult).toMatchObject({ code: 3 });
    expect(emptyResult.stderr).toContain('There is no run @latest~2: the team has 2 runs.');
  });

  it('is found by the beginning of its ID if it is unique', async () => {
    expect(await findRun(first.slice(0, 30))).toBe(first);
    const refusal = await service.cli(['runs', 'get', 'ffffffff']);
    expect(refusal).toMatchObject({ code: 3 });
    expect(refusal.stderr).toContain('There is no run whose ID starts with "ffffffff".');
  });

  it('has its number wherever it is shown', async () => {
    expect((await service.cli(['runs', 'get', '1'])).stdout).toMatch(/^Number\t1\n/);
    expect((await service.cli(['runs', 'get', first, '--jq', '.run_number'])).stdout).toBe('1\n');
    expect((await service.cli(['runs', 'list'])).stdout).toMatch(/^2\tcompleted[^\n]*\n1\tcompleted/);
    expect((await service.cli(['runs', 'list'], { tty: true, env: { NO_COLOR: '1' } })).stdout).toMatch(
      /^RUN +STATUS +TITLE +AGENT +CREATED\n2 +completed/,
    );
    const watchResult = await service.cli(['runs', 'watch', '1'], { tty: true, env: { NO_COLOR: '1' } });
    expect(watchResult.stderr).toContain('Run #1  greeter: one\n');
  });

  it('is not found under the name of another agent', async () => {
    const refusal = await service.cli(['runs', 'get', 'greeter#2']);
    expect(refusal).toMatchObject({ code: 3 });
    expect(refusal.stderr).toContain('There is no run #2 of the agent "greeter".');
  });

  it('is named by its number in messages for people, and by its ID in messages for programs', async () => {
    const failedRun = await service.run('- fail: broken');
    await service.until(failedRun, 'failed');
    const { run } = await service.get(failedRun);
    const viewResult = await service.cli(['runs', 'watch', failedRun], { tty: true, env: { NO_COLOR: '1' } });
    expect(viewResult.stderr).toContain(`Run #${run.run_number} failed`);
    expect(viewResult.stderr).toContain(`\`aops runs messages ${run.run_number}\``);
    const pipedResult = await service.cli(['runs', 'watch', failedRun]);
    expect(pipedResult.stderr).toContain(`Run ${failedRun} failed`);
  });
});

interface Row {
  id: string;
  run_number: number;
  agent_name?: string;
}

/** A service with these runs, newest first, and the requests that it got. */
async function startForeign(rows: readonly Row[], ways: { filters?: boolean; searches?: boolean; strict?: boolean } = {}) {
  const urls: URL[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://x');
    urls.push(url);
    const send = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    const query = url.searchParams;
    if (!url.pathname.endsWith('/runs')) return send(200, { success: true });
    if (ways.strict && query.has('run_number')) return send(400, { error: 'invalid_request', message: 'run_number is not supported' });
    const [limit, offset] = [Number(query.get('limit') ?? 20), Number(query.get('offset') ?? 0)];
    const matches = rows.filter(
      ({ id, run_number }) =>
        (!ways.filters || !query.has('run_number') || run_number === Number(query.get('run_number'))) &&
        (!ways.searches || !query.has('search') || id.includes(query.get('search') as string)),
    );
    const data = matches.slice(offset, offset + limit).map((row) => ({ agent_name: 'a', title: 't', status: 'running', ...row }));
    send(200, { data, total: matches.length });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  whenDone(() => void server.close());
  const env = { AOPS_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  return {
    urls,
    /** Stops the run with this name. Returns the ID of the run that was stopped, or the error. */
    async stop(name: string): Promise<{ stopped: string | undefined; code: number; stderr: string }> {
      const { code, stderr } = await service.cli(['runs', 'stop', name], { env });
      const stoppedId = urls.map(({ pathname }) => /runs\/([^/]+)\/stop$/.exec(pathname)?.[1]).find((id) => id !== undefined);
      return { stopped: stoppedId, code, stderr };
    },
  };
}

/** This many runs with descending numbers. */
const makeRows = (count: number): Row[] =>
  Array.from({ length: count }, (_, index) => ({ id: uuid(count - index), run_number: count - index }));

describe('looking up a run by number', () => {
  it('needs one request if the service can filter', async () => {
    const { urls, stop } = await startForeign(makeRows(500), { filters: true });
    expect(await stop('17')).toMatchObject({ stopped: uuid(17), code: 0 });
    expect(urls).toHaveLength(2);
  });

  it.each([
    ['ignores the filter', {}],
    ['rejects the filter', { strict: true }],
  ])('reads the list if the service %s', async (_, ways) => {
    const { stop } = await startForeign(makeRows(500), ways);
    expect(await stop('17')).toMatchObject({ stopped: uuid(17), code: 0 });
  });

  it('stops reading when the remaining numbers are lower', async () => {
    const { urls, stop } = await startForeign(makeRows(500).filter(({ run_number }) => run_number !== 450));
    expect(await stop('450')).toMatchObject({ stopped: undefined, code: 3 });
    expect(urls).toHaveLength(1);
  });

  it('never confuses the newest run with the requested one', async () => {
    const { stop } = await startForeign([{ id: uuid(9), run_number: 9 }]);
    expect(await stop('17')).toMatchObject({ stopped: undefined, code: 3 });
  });

  it('rejects a number that several runs have', async () => {
    const rows = [
      { id: uuid(1), run_number: 3, agent_name: 'pay' },
      { id: uuid(2), run_number: 3, agent_name: 'ship' },
    ];
    const { stop } = await startForeign(rows);
    const { stopped, code, stderr } = await stop('3');
    expect({ stopped, code }).toEqual({ stopped: undefined, code: 2 });
    expect(stderr).toContain(`"#3" matches 2 runs.`);
    expect(stderr).toContain(`${uuid(1)} (pay: t), ${uuid(2)} (ship: t)`);
    expect(await stop('ship#3')).toMatchObject({ stopped: uuid(2) });
  });

  it('does not guess if the list is too long to read', async () => {
    const rows = makeRows(2_200).map(({ id, run_number }) => ({ id, run_number: run_number % 2 === 0 ? 8_000 + run_number : run_number }));
    const { urls, stop } = await startForeign(rows);
    const { stopped, code, stderr } = await stop('9999');
    expect({ stopped, code }).toEqual({ stopped: undefined, code: 2 });
    expect(stderr).toContain('cannot look up "#9999"');
    expect(urls.length).toBeLessThanOrEqual(20);
  });
});

describe('looking up a run by the beginning of its ID', () => {
  const rows = [
    { id: uuid(1, 'aaaaaaaa'), run_number: 3 },
    { id: uuid(2, 'aaaaaaaa'), run_number: 2 },
    { id: uuid(3, 'bbbbbbbb'), run_number: 1 },
  ];

  it.each([
    ['searches', { searches: true }],
    ['does not search', {}],
  ])('finds a run if the service %s', async (_, ways) => {
    const { stop } = await startForeign(rows, ways);
    expect(await stop('BBBBBBBB')).toMatchObject({ stopped: uuid(3, 'bbbbbbbb'), code: 0 });
  });

  it('lists the candidates if several IDs match', async () => {
    const { stop } = await startForeign(rows, { searches: true });
    const { stopped, code, stderr } = await stop('aaaaaaaa');
    expect({ stopped, code }).toEqual({ stopped: undefined, code: 2 });
    expect(stderr).toContain(`${uuid(1, 'aaaaaaaa')} (a: t), ${uuid(2, 'aaaaaaaa')} (a: t)`);
    expect(stderr).not.toContain('more');
    const five = await startForeign(makeRows(5), { searches: true });
    expect((await five.stop('00000000')).stderr).not.toContain('more');
    const many = await startForeign(makeRows(7), { searches: true });
    expect((await many.stop('00000000')).stderr).toMatch(/matches 7 runs\..*, .*, .*, .*, 0000\S+ \(a: t\), and 2 more/s);
  });

  it('reads 2,000 runs at most, and each page once', async () => {
    const tooMany = await startForeign(makeRows(2_200));
    expect(await tooMany.stop('ffffffff')).toMatchObject({ stopped: undefined, code: 2 });
    expect(tooMany.urls).toHaveLength(20);
    const few = await startForeign(makeRows(200));
    expect(await few.stop('ffffffff')).toMatchObject({ stopped: undefined, code: 3 });
    // Two pages with the search, and two without it.
    expect(few.urls).toHaveLength(4);
  });
});
