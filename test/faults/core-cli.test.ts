/** Faults with an effect that users see, through the real command line: exit code, both streams, and the requests. */
import { describe, expect, it } from 'vitest';
import { scriptedServer } from '../client/harness.ts';
import { eventually } from '../support/eventually.ts';
import { closedPort } from '../support/ports.ts';
import { runPromptly } from '../support/promptly.ts';
import { cli, connectionsUsed, success, untilReceived } from './cases.ts';
import { answer, json, noAnswer, partial, type RecordedRequest, type Step } from './raw-server.ts';

const busyAnswer = json(500, { error: 'internal', message: 'Sorry.' });
const jsonType = { 'content-type': 'application/json' };
/** Commands with one request each, because IDs need no look-up. */
const id = '00000000-0000-4000-8000-000000000001';
const get = ['runs', 'get', id];
const stop = ['runs', 'stop', id];
const stopAnswer = json(200, { success: true, message: 'It was stopped.' });
const replay = json(200, { success: true, message: 'It was stopped.' }, { 'idempotency-replayed': 'true' });
const completedRun = json(200, { run: { id, status: 'completed', agent_id: 'a1' }, pending_human_request: null });

describe('aops', () => {
  it('always refused: one line with the address, and a hint', async () => {
    const url = `http://127.0.0.1:${await closedPort()}`;
    const { code, stdout, stderr } = await cli({ url }, get);
    expect([code, stdout]).toEqual([8, '']);
    expect(stderr).toContain(`error: Could not reach ${url}: the connection was refused.\n`);
    expect(stderr).toContain('hint: Start the local service with `aops local up`');
  });

  it('refused, and --timeout leaves no time for another attempt', async () => {
    const url = `http://127.0.0.1:${await closedPort()}`;
    const { code, stderr } = await cli({ url }, [...get, '--timeout', '20ms']);
    expect(code).toBe(9);
    expect(stderr).toMatch(
      /error: The command (cannot finish in time: the connection was refused\. The next attempt would be in \S+, but|did not finish within 20ms)/,
    );
  });

  it('a lost answer is recovered with the same key, and reported once', async () => {
    const server = await scriptedServer(noAnswer('close'), noAnswer('reset'), replay);
    const { code, stdout } = await cli(server, [...stop, '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ success: true });
    expect([server.requests.length, new Set(server.header('idempotency-key')).size]).toEqual([3, 1]);
  });

  it('a truncated answer is never printed', async () => {
    const server = await scriptedServer(partial(200, 100, '{"run":{"id":"half', 'close'), completedRun);
    const { code, stdout, stderr } = await cli(server, [...get, '--json']);
    expect(code).toBe(0);
    expect(stdout).toContain('completed');
    expect(stdout + stderr).not.toContain('half');
  });

  it('valid JSON of another shape: reported clearly, not dumped', async () => {
    for (const body of ['[]', '{"password":"hunter2"}']) {
      const { code, stdout, stderr } = await cli(await scriptedServer(answer(200, body, jsonType)), get);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toContain('error: The service answered 200 without the');
      expect(stderr).not.toContain('hunter2');
    }
  });

  it('an HTML error page: the status, not the page', async () => {
    const server = await scriptedServer(answer(404, '<html>\u001b[31mnginx</html>', { 'content-type': 'text/html' }));
    const { code, stdout, stderr } = await cli(server, get);
    expect([code, stdout]).toEqual([3, '']);
    expect(stderr).toContain('The service answered 404 without a readable error.');
    expect(stderr).not.toContain('nginx');
  });

  it('always 500 for a change: exit 13, the key, and how to settle it', async () => {
    const server = (await scriptedServer()).always(busyAnswer);
    const { code, stdout, stderr } = await cli(server, [...stop, '--json']);
    const [key] = server.header('idempotency-key');
    expect([code, stdout, server.requests.length]).toEqual([13, '', 4]);
    const error = JSON.parse(stderr.trim().split('\n').at(-1) as string) as { error: Record<string, string> };
    expect(error.error).toMatchObject({
      code: 'outcome_unknown',
      exit: 13,
      idempotency_key: key,
      hint: expect.stringContaining(key as string),
    });
  });

  it('Retry-After: 3600: exit 7 immediately, with the time', async () => {
    const server = await scriptedServer(json(429, { error: 'rate_limited', message: 'Slow down.' }, { 'retry-after': '3600' }));
    const { code, stderr } = await cli(server, [...get, '--json']);
    expect([code, server.requests.length]).toEqual([7, 1]);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'rate_limited', exit: 7, retry_after_seconds: 3600 } });
  });

  it.each([
    ['table', /^Rate limited: waiting \(\d+(ms|s), until 20\d\d-.*Z\)\n$/],
    ['json', /^\{"event":"rate_limit\.waiting","wait_seconds":[12],"until":"20\d\d-.*Z"\}\n$/],
    ['ndjson', /^\{"event":"rate_limit\.waiting","wait_seconds":[12],"until":"20\d\d-.*Z"\}\n$/],
  ])('a wait is one line on stderr with -o %s', async (format, line) => {
    const server = await scriptedServer(json(429, { error: 'rate_limited' }, { 'retry-after': '0.4' }), completedRun);
    const { code, stderr } = await cli(server, [...get, '-o', format]);
    expect(code).toBe(0);
    expect(stderr).toMatch(line);
  });

  it('a conflict is final', async () => {
    const server = await scriptedServer(json(409, { error: 'conflict', message: 'It has ended.' }));
    expect(await cli(server, stop)).toMatchObject({ code: 6, stdout: '', stderr: expect.stringContaining('error: It has ended.') });
    expect(server.requests).toHaveLength(1);
  });

  it("a stored refusal for the user's key is shown as a stored one", async () => {
    const server = await scriptedServer(json(404, { error: 'run_not_found', message: 'No run.' }, { 'idempotency-replayed': 'true' }));
    const { code, stderr } = await cli(server, [...stop, '--idempotency-key', 'mine']);
    expect(code).toBe(3);
    expect(stderr).toContain('No run.');
    expect(stderr).toContain('when the key mine was first used; nothing was carried out now');
    expect(server.header('idempotency-key')).toEqual(['mine']);
  });

  it("a stored success for the user's key is reported without a new change", async () => {
    const { code, stderr } = await cli(await scriptedServer(replay), [...stop, '--idempotency-key', 'mine']);
    expect(code).toBe(0);
    expect(stderr).toContain('The key mine was used before, so nothing was changed now');
  });

  it('an invalid key is rejected locally, and never shown', async () => {
    for (const key of ['a b-secret', 'sk\nsecret', 'k'.repeat(256), 'schlüssel-secret']) {
      const server = await scriptedServer();
      const { code, stdout, stderr } = await cli(server, [...stop, '--idempotency-key', key]);
      expect([code, stdout, server.connections]).toEqual([2, '', 0]);
      expect(stderr).not.toContain(key);
    }
  });

  it('a rejected API key: exit 4 after one request', async () => {
    const server = await scriptedServer(json(401, { error: 'unauthorized', message: 'The token is not valid.' }));
    const { code, stderr } = await cli(server, stop);
    expect([code, server.requests.length]).toEqual([4, 1]);
    expect(stderr).toContain('hint: Correct AOPS_API_KEY');
  });

  it('a redirect is not followed, and its target receives nothing', async () => {
    const otherServer = await scriptedServer(success);
    const server = await scriptedServer(answer(307, '', { location: `${otherServer.url}/v2/x?token=abc` }));
    const { code, stderr } = await cli(server, stop);
    expect([code, otherServer.connections]).toEqual([1, 0]);
    expect(stderr).toContain(otherServer.url);
    expect(stderr).not.toContain('token=abc');
  });

  it('a second Ctrl-C ends the process without waiting for anything', async () => {
    const server = await scriptedServer(noAnswer('stall'));
    let interrupt = (): void => undefined;
    const running = cli(server, stop, {
      onStart: (press) => {
        interrupt = press;
      },
    });
    await server.until(({ requests }) => requests.length === 1);
    interrupt();
    // Within the tests the process cannot be ended, which is reported as this error.
    expect(interrupt).toThrow('tests in this process must not kill processes');
    expect((await running).code).toBe(130);
  });

  it.each([
    ['headers', noAnswer('stall'), ''],
    ['body', partial(200, 100, '{', 'stall'), ''],
    ['rate wait', json(429, { error: 'rate_limited' }, { 'retry-after': '30' }), 'Rate limited: waiting'],
    ['back-off', json(503, { error: 'unavailable' }, { 'retry-after': '30' }), 'Trying again in'],
  ] as [string, Step, string][])('Ctrl-C in %s: exit 130, and nothing stays open', async (_, step, message) => {
    const server = await scriptedServer(step);
    const sockets = connectionsUsed();
    let interrupt = (): void => undefined;
    let output = '';
    const running = cli(server, stop, {
      onStart: (press) => {
        interrupt = press;
      },
      onOutput: (_, stderr) => {
        output = stderr;
      },
    });
    await server.until(({ requests }) => requests.length === 1);
    await untilReceived(sockets, step, server.requests[0] as RecordedRequest);
    await eventually('the client says that it waits', () => output.includes(message));
    await runPromptly(async () => {
      interrupt();
      expect((await running).code).toBe(130);
      await server.until(({ open }) => open === 0);
    }, 250);
  });

  it('text from the service can neither control the terminal nor break JSON', async () => {
    const evil = 'x\u001b[2J\u001b]52;c;ZXZpbA==\u0007\rgone\u009b31m\u202eabc';
    const clean = (text: string): void => {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
      expect(text).not.toMatch(/\u001b\]|\u001b\[2J|\u0007|\r|\u009b|\u202e/);
    };
    const run = json(200, { run: { id, status: evil, agent_id: evil, error: evil }, pending_human_request: null });
    const error = json(404, { error: evil, message: evil }, { 'x-request-id': 'a\tb' });
    for (const tty of [false, true]) {
      const table = await cli(await scriptedServer(run), get, { tty });
      const failure = await cli(await scriptedServer(error), get, { tty });
      for (const text of [table.stdout, table.stderr, failure.stderr]) clean(text);
      expect([table.code, failure.code]).toEqual([0, 3]);
    }
    const wholeResult = await cli(await scriptedServer(run), [...get, '--json']);
    expect(JSON.parse(wholeResult.stdout)).toMatchObject({ status: evil });
    const failedResult = await cli(await scriptedServer(error), [...get, '--json']);
    expect(JSON.parse(failedResult.stderr)).toMatchObject({ error: { code: evil } });
  });

  it('--debug traces every attempt, without the credential', async () => {
    const server = await scriptedServer(noAnswer('reset'), stopAnswer);
    const { code, stderr } = await cli(server, [...stop, '--debug']);
    expect(code).toBe(0);
    expect(stderr).toContain('POST ');
    expect(stderr).toMatch(/Trying again in/);
  });
});
