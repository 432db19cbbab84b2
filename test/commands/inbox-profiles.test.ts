/** `aops inbox --all-profiles`: requests of several services and teams in one list. */

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { pendingRequests } from '../../src/cli/following/pending-requests.ts';
import { defineCommand } from '../../src/cli/kit/command.ts';
import type { Context } from '../../src/cli/kit/context.ts';
import type { Access } from '../../src/commands/inbox/all-profiles.ts';
import { AllProfiles } from '../../src/commands/inbox/all-profiles.ts';
import type { InboxEvent } from '../../src/commands/inbox/events.ts';
import { InboxSession } from '../../src/commands/inbox/inbox-session.ts';
import { CliTerminal } from '../support/cli-terminal.ts';
import { answerWith, ForeignService } from '../support/foreign-service.ts';
import { Forwarder } from '../support/forwarder.ts';
import { prompting } from '../support/open-prompts.ts';
import { type CliResult, runCli } from '../support/run-cli.ts';
import { keys } from '../support/screen.ts';
import { folderEnv, startTestService, type TestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

let first: TestService;
let second: TestService;
beforeAll(async () => {
  [first, second] = await Promise.all([startTestService(), startTestService()]);
  await first.waiting('- approve: { id: ok, title: "Pay?" }');
  await second.waiting('- approve: { id: ok, title: "Ship?" }');
});

interface Settings {
  signedOut: boolean;
  /** By the name of their profile. */
  services?: Record<string, { service: Pick<TestService['service'], 'url' | 'teamId' | 'token'> }>;
}

/** A machine with a profile for each service, another one for the first service, and optionally one that is not signed in. */
async function machine({
  signedOut,
  services: own = { again: first, one: first, two: second },
}: Settings): Promise<Record<string, string>> {
  const env = folderEnv(await temporaryFolder());
  const entries = Object.entries(own).map(([name, { service }]) => [name, { base_url: service.url, team_id: service.teamId }]);
  const profiles = { ...Object.fromEntries(entries), ...(signedOut ? { old: { base_url: 'https://old.example', team_id: 't' } } : {}) };
  const credentials = Object.entries(own).map(([name, { service }]) => [
    name,
    { type: 'token', token: service.token, origin: service.url },
  ]);
  const folder = env.AOPS_CONFIG_DIR as string;
  await mkdir(folder);
  await writeFile(path.join(folder, 'config.json'), JSON.stringify({ current_profile: 'one', profiles }), { mode: 0o600 });
  await writeFile(path.join(folder, 'credentials.json'), JSON.stringify(Object.fromEntries(credentials)), { mode: 0o600 });
  return env;
}

const inbox = (env: Record<string, string>, ...flags: string[]): Promise<CliResult> =>
  runCli(['inbox', '--all-profiles', ...flags], { env });

describe('inbox --all-profiles', () => {
  it('lists each request once, with the profile it belongs to', async () => {
    // Variables for one service must not reach the others.
    const env = { ...(await machine({ signedOut: false })), AOPS_TEAM_ID: 'x', AOPS_API_KEY: 'other', AOPS_BASE_URL: 'https://x.example' };
    expect(await inbox(env, '--template', '{{ profile }} {{ title }}')).toMatchObject({
      code: 0,
      stdout: 'one Pay?\ntwo Ship?\n',
      stderr: '',
    });
    const table = await runCli(['inbox', '--all-profiles', '--no-input'], { env: { ...env, NO_COLOR: '1' }, tty: true });
    expect(table.stdout).toMatch(/^PROFILE .*\none .* Pay\? .*\ntwo .* Ship\? /);
    expect((await inbox(env, '--type', 'question', '--json')).json()).toMatchObject({ data: [], total: 0 });
    const own = await runCli(['inbox', '--json'], { env: await machine({ signedOut: false }) });
    expect(own.json<{ data: object[] }>().data).toMatchObject([{ title: 'Pay?', profile: 'one' }]);
  });

  it('lists the oldest request first, whichever profile it belongs to', async () => {
    const [one, two] = [await startTestService(), await startTestService()];
    for (const [service, title] of [
      [two, 'First?'],
      [one, 'Second?'],
      [two, 'Third?'],
    ] as const)
      await service.waiting(`- approve: { id: ok, title: "${title}" }`);
    const { stdout } = await inbox(await machine({ signedOut: false, services: { one, two } }), '--template', '{{ title }}');
    expect(stdout).toBe('First?\nSecond?\nThird?\n');
  });

  it('offers them at a terminal, and ends with Ctrl-C at a prompt', async () => {
    const terminal = new CliTerminal(['inbox', '--all-profiles'], { env: await machine({ signedOut: false }) });
    await terminal.asks('2 requests are waiting for an answer');
    terminal.type(keys.enter);
    await terminal.shows('Profile one');
    await terminal.asks('Pay?');
    terminal.type(keys.ctrlC);
    const { code, stdout, stderr } = await terminal.end;
    expect([code, stdout, stderr]).toEqual([130, '', expect.not.stringContaining('Not answered here')]);
  });

  it('are listed for a program, also on a terminal', async () => {
    const env = await machine({ signedOut: false });
    const { code, stdout } = await new CliTerminal(['inbox', '--all-profiles', '--template', '{{ title }}'], { env }).end;
    expect([code, stdout]).toEqual([0, 'Pay?\nShip?\n']);
    expect((await new CliTerminal(['inbox', '--all-profiles'], { env, tty: 'stderr' }).end).stdout).toContain('\tPay?\t');
  });

  it('reports a profile that cannot be read only once, however often the list is read', async () => {
    const own = await startTestService();
    for (const title of ['First?', 'Second?']) await own.waiting(`- approve: { id: ok, title: "${title}" }`);
    const env = await machine({ signedOut: true, services: { one: own } });
    const terminal = new CliTerminal(['inbox', '--all-profiles'], { env });
    await terminal.asks('2 requests are waiting for an answer');
    terminal.type(keys.enter);
    await terminal.asks('First?');
    terminal.type(keys.down, keys.enter);
    await terminal.asks('1 request is waiting for an answer');
    terminal.type(keys.ctrlC);
    const { stderr } = await terminal.end;
    expect(stderr.split('Profile "old": You are not signed in.')).toHaveLength(2);
  });

  it('reminds of a request once, with its profile, and says how to answer the others', async () => {
    let lead = 0;
    const own = await startTestService({ clock: { ...systemClock, now: () => Date.now() + lead } });
    await own.waiting('- approve: { id: ok, title: "Forgotten?" }');
    await own.cli(['local', 'team', 'update', own.service.teamId, '--remind-after', '1m']);
    const env = await machine({ signedOut: false, services: { again: own, one: own } });
    const remind = async (): Promise<void> => {
      lead += 2 * 3_600_000;
      for (const after of ['off', '1m']) await own.cli(['local', 'team', 'update', own.service.teamId, '--remind-after', after]);
    };
    const printed = new CliTerminal(['inbox', '--all-profiles', '--watch', '-o', 'ndjson'], { env });
    await printed.prints('human_request.pending');
    await remind();
    const lines = (await printed.prints('human_request.reminder')).trimEnd().split('\n');
    printed.interrupt();
    await printed.end;
    const events = lines.map((line) => JSON.parse(line) as InboxEvent);
    expect(events.map(({ type, data }) => [type, 'human_request' in data && data.human_request.profile])).toEqual([
      ['human_request.pending', 'one'],
      ['human_request.reminder', 'one'],
    ]);
    const person = new CliTerminal(['inbox', '--all-profiles', '--watch'], { env });
    await person.asks('Forgotten?');
    person.type(keys.up, keys.enter);
    await person.shows('Left pending: Forgotten?');
    await remind();
    await person.shows(/Profile one: Reminder: .* has been waiting for \d+s: Forgotten\?/);
    person.interrupt();
    await person.shows('Answered 0; 1 still pending. Answer them with: aops inbox --all-profiles\n');
    expect((await person.end).code).toBe(130);
  });

  it('does not prompt again, with another profile for the same team, for what was answered', async () => {
    const own = await startTestService();
    await own.waiting('- approve: { id: ok, title: "Left?" }');
    await own.waiting('- approve: { id: ok, title: "Answered?" }');
    const forwarder = await Forwarder.to(own.service.url);
    const { secret } = await own.api<{ secret: string }>('POST', '/local/tokens', {
      name: 'other',
      scopes: ['runs:read', 'approvals:write'],
    });
    const service = { url: forwarder.url, teamId: own.service.teamId };
    const env = await machine({
      signedOut: false,
      services: {
        one: { service: { ...service, token: own.service.token } },
        two: { service: { ...service, token: secret } },
      },
    });
    // The other profile reads both requests once, and then nothing new.
    let readings = 0;
    forwarder.ignores = ({ url = '', headers }) => {
      if (!url.includes('status=waiting') || headers.authorization !== `Bearer ${secret}`) return false;
      readings += 1;
      return readings > 1;
    };
    const terminal = new CliTerminal(['inbox', '--all-profiles', '--watch'], { env });
    await terminal.asks('Left?');
    await expect.poll(() => readings).toBeGreaterThan(0);
    terminal.type(keys.up, keys.enter);
    await terminal.asks('Answered?');
    terminal.type(keys.down, keys.enter);
    await terminal.shows('Answered with the profile "one".');
    await own.waiting('- approve: { id: ok, title: "Next?" }');
    await terminal.asks('Next?');
    terminal.type(keys.ctrlC);
    const { stderr } = await terminal.end;
    expect(stderr).toContain('Answered 1; 2 still pending.');
    expect(stderr).not.toContain('no longer pending');
  });

  it.each([
    ['a list', []],
    ['a watch', ['--watch']],
  ])('offers a request again, with another profile, if the first one may not answer: %s', async (_title, flags) => {
    const own = await startTestService();
    const runId = await own.waiting('- approve: { id: ok, title: "Pay?" }');
    const { secret } = await own.api<{ secret: string }>('POST', '/local/tokens', { name: 'reader', scopes: ['runs:read'] });
    const reader = { service: { url: own.service.url, teamId: own.service.teamId, token: secret } };
    const env = await machine({ signedOut: false, services: { one: reader, two: own } });
    const terminal = new CliTerminal(['inbox', '--all-profiles', ...flags], { env });
    const isWatch = flags.length > 0;
    const pick = async (): Promise<void> => {
      if (isWatch) return;
      await terminal.asks('1 request is waiting for an answer');
      terminal.type(keys.enter);
    };
    await pick();
    await terminal.asks('Pay?');
    terminal.type(keys.down, keys.enter);
    await terminal.shows('Not answered here: Pay?');
    await pick();
    await terminal.shows('Profile two');
    await terminal.asks('Pay?');
    terminal.type(keys.down, keys.enter);
    await terminal.shows('Answered with the profile "two".');
    if (isWatch) terminal.interrupt();
    await terminal.shows('Answered 1; nothing else is pending.');
    expect((await terminal.end).code).toBe(isWatch ? 130 : 0);
    expect((await own.get(runId)).request).toBeNull();
  });

  it('ends with an error that is not about a profile', async () => {
    const command = defineCommand({
      summary: 'Fail',
      examples: [{ command: 'aops fail', text: 'Fail' }],
      async run(context) {
        const profiles = new AllProfiles(context);
        const fault = new TypeError('a fault');
        await expect(profiles.load(() => Promise.reject(fault))).rejects.toBe(fault);
        expect(profiles.endWatching('one', fault)).toBe(fault);
        expect(profiles.error).toBeUndefined();
        return undefined;
      },
    });
    const tree = { fail: { summary: command.summary, load: async () => ({ default: command }) } };
    expect(await runCli(['fail'], { env: await machine({ signedOut: false }), tree })).toMatchObject({ code: 0, stderr: '' });
  });

  it('reports a profile that cannot be read, and still shows the others', async () => {
    const listed = await inbox(await machine({ signedOut: true }), '--template', '{{ title }}');
    expect(listed).toMatchObject({ code: 4, stdout: 'Pay?\nShip?\n' });
    expect(listed.stderr).toContain('Profile "old": You are not signed in.\n');
    expect(listed.stderr).toContain('error: 1 of 4 profiles could not be read.\n');
  });

  it('reports the error of a profile in one line, whatever its service sends', async () => {
    const { url: foreign } = await ForeignService.start({}, () => answerWith(403, { error: 'no', message: 'No\nentry\u001b[31m' }));
    const env = await machine({ signedOut: false });
    const file = path.join(env.AOPS_CONFIG_DIR as string, 'config.json');
    const config = JSON.parse(await readFile(file, 'utf8')) as { profiles: object };
    await writeFile(file, JSON.stringify({ ...config, profiles: { ...config.profiles, zero: { base_url: foreign, team_id: 't' } } }));
    const credentialsFile = path.join(env.AOPS_CONFIG_DIR as string, 'credentials.json');
    const credentials = JSON.parse(await readFile(credentialsFile, 'utf8')) as object;
    await writeFile(credentialsFile, JSON.stringify({ ...credentials, zero: { type: 'token', token: 't0ken', origin: foreign } }));
    const { stderr } = await inbox(env, '--template', '{{ title }}');
    expect(stderr).toMatch(/^Profile "zero": No\\nentry\^\[\[31m$/m);
  });

  it('applies the filters in each profile', async () => {
    const env = await machine({ signedOut: false });
    expect((await inbox(env, '--type', 'approval', '--older-than', '0s', '-o', 'id')).stdout.trim().split('\n')).toHaveLength(2);
    expect(await inbox(env, '--older-than', '1h', '-o', 'id')).toMatchObject({ code: 0, stdout: '' });
  });

  it.each([
    ['--run', '1', 'a run belongs to one team'],
    ['--profile', 'one', 'all profiles are read'],
    ['--team', 'x', 'each profile has its own team'],
    ['--base-url', 'https://x.example', 'each profile has its own service'],
    ['--resume', 'auto', 'each profile has its own position'],
  ])('cannot be combined with %s', async (flag, value, reason) => {
    const refusal = await inbox(await machine({ signedOut: false }), flag, value);
    expect(refusal).toMatchObject({ code: 2, stdout: '', stderr: `error: --all-profiles and ${flag} cannot be combined: ${reason}.\n` });
  });

  it('requires --watch for --notify and --exec', async () => {
    expect(await inbox(await machine({ signedOut: false }), '--exec', 'true')).toMatchObject({ code: 2, stdout: '' });
  });

  it('needs a profile', async () => {
    expect(await inbox(folderEnv(await temporaryFolder()))).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('There are no profiles.'),
    });
  });

  it('needs a profile to watch', async () => {
    expect(await inbox(folderEnv(await temporaryFolder()), '--watch')).toMatchObject({ code: 4, stdout: '' });
  });

  it('watches each request once, with its profile, while other profiles fail', async () => {
    const env = await machine({ signedOut: true });
    let interrupt = (): void => undefined;
    let stage = 0;
    let third: Promise<string> | undefined;
    const watched = await runCli(['inbox', '--all-profiles', '--watch', '-o', 'ndjson'], {
      env,
      onStart: (deliver) => {
        interrupt = deliver;
      },
      onOutput: (stdout) => {
        const lines = stdout.split('\n').length - 1;
        if (lines === 2 && stage === 0) {
          stage = 1;
          third = second.run('- approve: { id: ok, title: "Third?" }');
        }
        if (lines === 3 && stage === 1) {
          stage = 2;
          const { run_id } = JSON.parse(stdout.split('\n')[2] ?? '') as InboxEvent;
          void second.api('POST', `/runs/${run_id}/stop`);
        }
        if (lines === 4) interrupt();
      },
    });
    expect(watched.code).toBe(130);
    expect(watched.stderr).toContain('Profile "old": You are not signed in. It is no longer watched.\n');
    const events = watched.lines<InboxEvent>();
    expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
    const facts = events.map(({ type, data }) =>
      'human_request' in data ? [type, data.human_request.profile, data.human_request.title] : [type, data.profile, data.title],
    );
    expect(facts.slice(0, 2).sort()).toEqual([
      ['human_request.pending', 'one', 'Pay?'],
      ['human_request.pending', 'two', 'Ship?'],
    ]);
    expect(facts.slice(2)).toEqual([
      ['human_request.pending', 'two', 'Third?'],
      ['human_request.resolved', 'two', 'Third?'],
    ]);
    expect(events[3]?.run_id).toBe(await third);
  });

  it('ends when no profile can be watched any more', async () => {
    const env = await machine({ signedOut: false });
    const watched = await inbox(env, '--watch', '--agent', 'nobody');
    expect(watched).toMatchObject({ code: 3, stdout: '' });
    expect(watched.stderr.match(/There is no agent .*It is no longer watched\./g)).toHaveLength(3);
    expect(watched.stderr).toContain('error: 3 of 3 profiles could not be read.');
  });

  it('notifies of requests with their profile, and runs the command of --exec with it', async () => {
    const env = { ...(await machine({ signedOut: false })), AOPS_API_KEY: 'other', AOPS_TEAM_ID: 'x', AOPS_BASE_URL: 'https://x.example' };
    const command = 'echo "<$AOPS_PROFILE $AOPS_REQUEST_TITLE $AOPS_TEAM_ID$AOPS_BASE_URL$AOPS_API_KEY>"';
    let interrupt = (): void => undefined;
    let isDone = false;
    const watched = await runCli(['inbox', '--all-profiles', '--watch', '--notify', '--exec', command], {
      env: { ...env, PATH: process.env.PATH ?? '', TERM: 'foot', NO_COLOR: '1' },
      tty: true,
      onStart: (deliver) => {
        interrupt = deliver;
      },
      onOutput: (_, stderr) => {
        if (isDone || !stderr.includes('Pay? >') || !stderr.includes('Ship? >') || !/needs an answer/.test(stderr)) return;
        isDone = true;
        interrupt();
      },
    });
    expect(watched.code).toBe(130);
    expect(watched.stderr).toContain('<one Pay? >');
    expect(watched.stderr).toContain('<two Ship? >');
    expect(watched.stderr).toMatch(/777;notify;aops;((one|two): agent-1 #1 needs an answer|2 requests)/);
    expect(watched.stdout.split('\n').filter(Boolean).sort()).toEqual([
      expect.stringMatching(/^\? {2}one {2}agent-1 {2}Pay\? /),
      expect.stringMatching(/^\? {2}two {2}agent-1 {2}Ship\? /),
    ]);
  });

  it('answers with the profile of the request', async () => {
    const answered: Record<string, string> = {};
    const command = defineCommand({
      summary: 'Answer everything',
      examples: [{ command: 'aops answer', text: 'Answer everything' }],
      async run(context) {
        const read = ({ context: { teamId }, client }: Access) => pendingRequests(client, teamId(), {}, () => undefined);
        const profiles = new AllProfiles(context);
        for (const request of await profiles.load(read)) {
          const { client } = profiles.accessOf(request);
          answered[request.title] = client.baseUrl;
          await client.call('respondToHumanRequest', {
            params: { run_id: request.run_id, request_id: request.id },
            body: { approved: true },
          } as never);
        }
        await profiles.close();
        return undefined;
      },
    });
    const env = await machine({ signedOut: false });
    const tree = { answer: { summary: command.summary, load: async () => ({ default: command }) } };
    expect(await runCli(['answer'], { env, tree })).toMatchObject({ code: 0, stderr: '' });
    expect(answered).toEqual({ 'Pay?': first.service.url, 'Ship?': second.service.url });
    expect((await inbox(env, '-o', 'id')).stdout).toBe('');
  });

  it('lets a person answer, says with which profile, and continues when one of them cannot answer', async () => {
    const [one, two] = await Promise.all([startTestService(), startTestService()]);
    await one.waiting('- approve: { id: ok, title: "Refused?" }');
    await two.waiting('- approve: { id: ok, title: "Accepted?" }');
    const person = prompting();
    const command = defineCommand({
      summary: 'Answer as a person',
      examples: [{ command: 'aops answer', text: 'Answer as a person' }],
      async run(context) {
        const profiles = new AllProfiles(context);
        const atTerminal = (own: Context): Context => ({ ...own, terminal: person.terminal, prompter: person.prompter });
        const session = new InboxSession(atTerminal(context), {
          accessOf: (request) => {
            const { context: own, client } = profiles.accessOf(request);
            return { context: atTerminal(own), client };
          },
        });
        await session.pick(
          () => profiles.load(({ context: { teamId }, client }) => pendingRequests(client, teamId(), {}, () => undefined)),
          '',
        );
        await profiles.close();
        return undefined;
      },
    });
    // The first service refuses the answer, because this credential may only read.
    const { secret } = await one.api<{ secret: string }>('POST', '/local/tokens', { name: 'reader', scopes: ['runs:read'] });
    const env = await machine({ signedOut: false, services: { one, two } });
    const file = path.join(env.AOPS_CONFIG_DIR as string, 'credentials.json');
    const credentials = JSON.parse(await readFile(file, 'utf8')) as Record<string, { token: string }>;
    (credentials.one as { token: string }).token = secret;
    await writeFile(file, JSON.stringify(credentials), { mode: 0o600 });
    const tree = { answer: { summary: command.summary, load: async () => ({ default: command }) } };
    const ended = runCli(['answer'], { env, tree });
    const [enter, down] = ['\r', '\u001b[B'];
    /** Presses keys once a prompt accepts them; from then on, only later output counts. */
    let seen = 0;
    const press = async (texts: string[], ...pressed: string[]): Promise<void> => {
      const isOpen = (): boolean => [...texts, '⏎ confirm'].every((text) => person.screen().includes(text, seen));
      await expect.poll(isOpen, { interval: 5 }).toBe(true);
      seen = person.screen().length;
      await person.press(...pressed);
    };
    await press(['2 requests are waiting for an answer', 'one  ', 'two  '], enter);
    await press(['Profile one', 'Refused?', 'Leave it pending'], down, enter);
    await press(['Profile "one": ', 'Use a credential with that scope', 'Not answered here: Refused?', '2 requests are waiting'], enter);
    await press(['Profile two', 'Accepted?', 'Leave it pending'], down, enter);
    await press(['Answered with the profile "two".', '1 request is waiting'], enter);
    expect((await ended).code).toBe(0);
    expect(person.screen()).toContain('Answered 1; 1 still pending.');
  });
});
