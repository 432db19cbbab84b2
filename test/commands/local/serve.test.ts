/** The service in the foreground, and the errors that prevent it from starting. */
import { mkdir, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import Libsql from 'libsql';
import { describe, expect, it } from 'vitest';
import { takenPort } from '../../support/ports.ts';
import { runCli, type Signal } from '../../support/run-cli.ts';
import { folderEnv, startTestService } from '../../support/service.ts';
import { temporaryFolder } from '../../support/temporary.ts';
import { certificate } from '../../support/tls.ts';

describe('aops serve', () => {
  it('serves until Ctrl-C and prints its address', async () => {
    const folder = await temporaryFolder();
    let interrupt: (() => void) | undefined;
    let request: Promise<number> | undefined;
    const serveResult = await runCli(['serve', '--data-dir', path.join(folder, 'own')], {
      env: folderEnv(folder),
      onStart: (deliver) => {
        interrupt = deliver;
      },
      onOutput: (_, stderr) => {
        const [, url] = /^Listening on (http:\/\/127\.0\.0\.1:\d+); team [0-9a-f-]{36}; .*commands are off$/m.exec(stderr) ?? [];
        if (url === undefined || request) return;
        request = fetch(`${url}/v2/teams/x`).then(({ status }) => status);
        void request.finally(() => interrupt?.());
      },
    });
    expect(await request).toBe(401);
    expect(serveResult).toMatchObject({ code: 0, stdout: '' });
  });

  it('writes its state to the data directory before it informs `local up`, stops if it cannot, and removes the state', async () => {
    const folder = await temporaryFolder();
    const ownDirectory = path.join(folder, 'own');
    await mkdir(path.join(ownDirectory, 'service.json'), { recursive: true });
    await mkdir(path.join(folder, 'state.json'));
    const serveResult = await runCli(['serve', '--data-dir', ownDirectory, '--state-file', path.join(folder, 'state.json'), '--json'], {
      env: folderEnv(folder),
    });
    expect(serveResult.code).toBe(1);
    expect(JSON.parse(serveResult.stderr.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
      error: { code: 'not_writable', message: `${path.join(ownDirectory, 'service.json')} is a folder.` },
    });
    expect((await readdir(ownDirectory)).filter((name) => name.startsWith('service.json.'))).toEqual([]);
  });

  it('reports a port that is in use', async () => {
    const port = await takenPort();
    const folder = await temporaryFolder();
    for (const format of [[], ['--json']]) {
      const refusal = await runCli(['serve', '--port', String(port), '--data-dir', path.join(folder, 'own'), ...format], {
        env: folderEnv(folder),
      });
      expect(refusal).toMatchObject({ code: 2, stdout: '' });
      expect(refusal.stderr).toContain(String(port));
      if (format.length > 0)
        expect(JSON.parse(refusal.stderr.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({ error: { code: 'port_in_use', exit: 2 } });
      else expect(refusal.stderr).toMatch(/^hint: .*--port/m);
    }
  });

  it('reports a data directory that is in use', async () => {
    const service = await startTestService();
    const refusal = await service.cli(['serve', '--data-dir', service.dataDirectory, '--json']);
    expect(refusal).toMatchObject({ code: 6, stdout: '' });
    expect(JSON.parse(refusal.stderr)).toMatchObject({ error: { code: 'data_directory_in_use', exit: 6 } });
    expect((await service.cli(['agents', 'list'])).code).toBe(0);
  });

  it('explains why a directory cannot be used for data, and changes nothing in it', async () => {
    const folder = await temporaryFolder();
    const make = async (name: string, fill: (database: string) => unknown) => {
      await mkdir(path.join(folder, name));
      await fill(path.join(folder, name, 'aops.db'));
    };
    await make('none', (database) => writeFile(database, 'hello'));
    await make('folder', (database) => mkdir(database));
    await make('foreign', (database) => {
      const foreignDatabase = new Libsql(database);
      foreignDatabase.exec('create table notes (text)');
      foreignDatabase.close();
    });
    await whileServing(folder, ['--data-dir', 'cut'], async () => undefined);
    const truncatedDatabase = path.join(folder, 'cut', 'aops.db');
    await truncate(truncatedDatabase, (await stat(truncatedDatabase)).size / 2);
    const cases: [string, string, number, string][] = [
      ['none', 'data_directory_damaged', 1, 'is damaged, or it is not a database'],
      ['folder', 'data_directory_unusable', 2, 'is a directory'],
      ['foreign', 'data_directory_foreign', 2, 'is not an aops database'],
      ['cut', 'data_directory_damaged', 1, 'is damaged, or it is not a database'],
      ['/proc/nowhere/data', 'data_directory_unusable', 2, 'a directory cannot be created there'],
    ];
    for (const [name, code, exit, message] of process.platform === 'linux' ? cases : cases.slice(0, -1)) {
      const refusal = await runCli(['serve', '--data-dir', name, '--json'], { env: folderEnv(folder), cwd: folder });
      expect(refusal, name).toMatchObject({ code: exit, stdout: '' });
      expect(JSON.parse(refusal.stderr), name).toMatchObject({ error: { code, message: expect.stringContaining(message) } });
    }
    expect(await readFile(path.join(folder, 'none', 'aops.db'), 'utf8')).toBe('hello');
    for (const argv of [
      ['backup', 'b.tar.gz'],
      ['reset', '--yes'],
    ]) {
      const refusal = await runCli(['local', ...argv, '--data-dir', 'foreign', '--json'], { env: folderEnv(folder), cwd: folder });
      expect(JSON.parse(refusal.stderr)).toMatchObject({ error: { code: 'data_directory_foreign', exit: 2 } });
    }
    const foreign = new Libsql(path.join(folder, 'foreign', 'aops.db'));
    expect(foreign.prepare('select name from sqlite_master').all([])).toEqual([{ name: 'notes' }]);
    foreign.close();
  });

  it('rejects invalid plans, and plans of teams that do not exist', async () => {
    const folder = await temporaryFolder();
    await writeFile(path.join(folder, 'plan.yaml'), 'maxConcurrentRuns: 2');
    await writeFile(path.join(folder, 'bad.yaml'), 'maxConcurrentRuns: none');
    const serve = (...argv: string[]) =>
      runCli(['serve', '--data-dir', path.join(folder, 'own'), ...argv], { env: folderEnv(folder), cwd: folder });
    const refusal = await serve('--plan', 'bad.yaml');
    expect(refusal.code).toBe(2);
    expect(refusal.stderr).toContain('bad.yaml is not a valid plan: maxConcurrentRuns must be a whole number from 1 to 10000, not "none".');
    const missingResult = await serve('--plan', 'finance=gone.yaml');
    expect(missingResult.code).toBe(2);
    expect(missingResult.stderr).toContain('gone.yaml cannot be read: there is no such file.');
    const unknownResult = await serve('--plan', 'plan.yaml', '--plan', 'finance=plan.yaml');
    expect(unknownResult.code).toBe(3);
    expect(unknownResult.stderr).toContain('There is no team "finance" to set a plan for.');
  });

  it('uses TLS and reloads its certificate on SIGHUP', async () => {
    const folder = await temporaryFolder();
    const [cert, key] = [path.join(folder, 'cert.pem'), path.join(folder, 'key.pem')];
    const write = async (pair: { cert: string; key: string }) => {
      await writeFile(cert, pair.cert);
      await writeFile(key, pair.key);
    };
    await write(certificate('server'));
    const steps = [
      () => write(certificate('wrong-name')),
      // The pair does not match, so the previous one remains in use.
      () => writeFile(key, certificate('server').key),
    ];
    let deliver: ((signal: Signal) => void) | undefined;
    let seen = 0;
    const serveResult = await runCli(['serve', '--data-dir', path.join(folder, 'own'), '--tls-cert', cert, '--tls-key', key], {
      env: folderEnv(folder),
      onStart: (_, any) => {
        deliver = any;
      },
      onOutput: (_, stderr) => {
        const lineCount = stderr.match(/^(Listening on https:|The TLS certificate )/gm)?.length ?? 0;
        if (lineCount <= seen) return;
        seen = lineCount;
        const step = steps.shift();
        if (step === undefined) deliver?.('SIGTERM');
        else void step().then(() => deliver?.('SIGHUP'));
      },
    });
    expect(serveResult.code).toBe(0);
    expect(serveResult.stderr).toMatch(/^Listening on https:\/\/127\.0\.0\.1:/m);
    expect(serveResult.stderr).toMatch(/^The TLS certificate was reloaded\.$/m);
    expect(serveResult.stderr).toMatch(/^The TLS certificate was not reloaded: The private key does not belong to the TLS certificate\.$/m);
    expect(serveResult.stderr).not.toContain('PRIVATE KEY');
  });

  it.each([
    ['json', /^\{"time":"[^"]+","level":"info","message":"service started",.*\}$/m],
    ['text', /^\d\d:\d\d:\d\d\.\d{3} info {2}service started url=http:/m],
  ])('logs as %s', async (format, line) => {
    const folder = await temporaryFolder();
    const serve = (...argv: string[]) => {
      let interrupt: (() => void) | undefined;
      return runCli(['serve', '--data-dir', path.join(folder, 'own'), '--log-format', format, ...argv], {
        env: folderEnv(folder),
        onStart: (interruptService) => {
          interrupt = interruptService;
        },
        onOutput: (_, stderr) => {
          if (!stderr.includes('Listening on')) return;
          interrupt?.();
          // A second signal would end the process immediately.
          interrupt = undefined;
        },
      });
    };
    expect((await serve()).stderr).toMatch(line);
    expect((await serve('--log-level', 'error')).stderr).toMatch(/^Listening on [^\n]+\n$/);
  });

  it.each([
    ['one half of a pair', ['--tls-cert', 'a.pem'], '--tls-cert and --tls-key must be used together.'],
    ['a missing certificate', ['--tls-cert', 'a.pem', '--tls-key', 'b.pem'], 'a.pem cannot be read: there is no such file.'],
    [
      'to be read along',
      ['--host', '0.0.0.0'],
      'Listening on 0.0.0.0 without TLS would let everybody on the network read tokens and data.',
    ],
    ['an invalid rate', ['--rate-limit', 'fast'], '--rate-limit must be a number of requests per time, such as 3000/m or 50/s'],
    ['an address with a path', ['--public-url', 'https://a.example/b'], '--public-url must be an address without a path'],
    ['a pattern of hosts', ['--allow-host', '*.a.example'], '--allow-host must be a host name without a port'],
    [
      'what is no certificate',
      ['--tls-cert', 'short', '--tls-key', 'short'],
      'The file specified with --tls-cert does not contain a PEM certificate.',
    ],
    ['an address of another machine', ['--host', '192.0.2.1', '--insecure-http'], 'listen on 192.0.2.1: this machine has no such address.'],
    ['a data directory that is a file', ['--data-dir', 'short'], 'short: a file with that name already exists.'],
    ['a host with a port', ['--allow-host', 'a.example:80'], '--allow-host must be a host name without a port'],
    ['a factor in another notation', ['--webhook-time-scale', '0x10'], '--webhook-time-scale must be a number greater than 0'],
    ['no time between attempts', ['--webhook-time-scale', '0.0'], '--webhook-time-scale must be a number greater than 0'],
    ['an invalid level', ['--log-level', 'loud'], '--log-level must be debug, info, warn, or error'],
    [
      'a retention that is too short',
      ['--retention', '5s'],
      '--retention must be a duration of at least a minute, such as 90d, or off; "5s" is not valid.',
    ],
    ['no agents', ['--max-agents', '0'], '--max-agents must be a whole number, 1 to 1000, not "0".'],
    ['an agent that is kept for a word', ['--agent-idle', 'soon'], '--agent-idle must be a duration such as'],
    [
      'turns of two days',
      ['--agent-timeout', '2d'],
      '--agent-timeout must be a duration of more than 0 and at most 24h, such as 30m; "2d" is not valid.',
    ],
    ['turns without time', ['--agent-timeout', '0'], '--agent-timeout must be a duration of more than 0'],
    [
      'a short token for the figures',
      ['--metrics-token-file', 'short'],
      'short does not contain a valid token: it must be one word of at least 16 characters.',
    ],
  ])('rejects %s', async (_, argv, message) => {
    const folder = await temporaryFolder();
    await writeFile(path.join(folder, 'short'), 'short\n');
    const refusal = await runCli(['serve', '--data-dir', path.join(folder, 'own'), ...argv], { env: folderEnv(folder), cwd: folder });
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain(message);
  });

  it('enforces the rate limit', async () => {
    const folder = await temporaryFolder();
    let interrupt: (() => void) | undefined;
    let request: Promise<unknown> | undefined;
    await runCli(['serve', '--data-dir', path.join(folder, 'own'), '--rate-limit', '7/h'], {
      env: folderEnv(folder),
      onStart: (interruptService) => {
        interrupt = interruptService;
      },
      onOutput: (_, stderr) => {
        const [, url] = /^Listening on (\S+);/m.exec(stderr) ?? [];
        if (url === undefined || request) return;
        request = fetch(`${url}/v2/nothing`).then(({ headers }) => headers.get('ratelimit-limit'));
        void request.finally(() => interrupt?.());
      },
    });
    expect(await request).toBe('7');
  });

  it.each([
    ['an invalid port', ['--port', '70000'], '--port must be a whole number, 0 to 65535'],
    ['an unknown way to execute', ['--exec', 'moon'], '--exec must be auto, contained, host, or off'],
  ])('rejects %s', async (_, argv, message) => {
    const folder = await temporaryFolder();
    const refusal = await runCli(['serve', ...argv], { env: folderEnv(folder) });
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain(message);
  });
});

/** Runs the service in the foreground for the duration of `work`. */
async function whileServing<Result>(folder: string, argv: readonly string[], work: () => Promise<Result>): Promise<Result> {
  let interrupt: (() => void) | undefined;
  let result: Promise<Result> | undefined;
  await runCli(['serve', ...argv], {
    env: folderEnv(folder),
    cwd: folder,
    onStart: (interruptService) => {
      interrupt = interruptService;
    },
    onOutput: (_, stderr) => {
      if (result !== undefined || !stderr.includes('Listening on ')) return;
      result = work();
      void result.finally(() => interrupt?.()).catch(() => undefined);
    },
  });
  return result as Promise<Result>;
}

it.each([
  { flags: [], limits: { max_agents: expect.any(Number), agent_idle: '3m', agent_timeout: '1h' } },
  {
    flags: ['--max-agents', '2', '--agent-idle', '0', '--agent-timeout', '1h30m'],
    limits: { max_agents: 2, agent_idle: '0', agent_timeout: '1h30m' },
  },
])('serve $flags shows its limits for agents in its status', async ({ flags, limits }) => {
  const folder = await temporaryFolder();
  const [record, text] = await whileServing(folder, ['--data-dir', 'own', ...flags], () =>
    Promise.all([
      runCli(['local', 'status', '--data-dir', 'own', '--json'], { env: folderEnv(folder), cwd: folder }),
      runCli(['local', 'status', '--data-dir', 'own', '--color', 'never'], { env: folderEnv(folder), cwd: folder, tty: true }),
    ]),
  );
  expect(record.json()).toMatchObject(limits);
  expect(text.stdout).toMatch(
    flags.length === 0
      ? /Agents: +at most \d+ at a time, 1h per turn, kept 3m while waiting\n/
      : /Agents: +at most 2 at a time, 1h30m per turn, kept 0 while waiting\n/,
  );
});

it.each([
  { flags: [], status: 400 },
  { flags: ['--allow-webhook-host', 'public'], status: 400 },
  { flags: ['--allow-webhook-host', 'loopback'], status: 201 },
])('serve $flags answers $status to a webhook for its own machine', async ({ flags, status }) => {
  const folder = await temporaryFolder();
  const result = await whileServing(folder, ['--data-dir', 'own', ...flags], async () => {
    const { url, team_id, webhook_hosts } = JSON.parse(await readFile(path.join(folder, 'own/service.json'), 'utf8'));
    expect(webhook_hosts).toEqual(flags.slice(1));
    const token = (await readFile(path.join(folder, 'own/token'), 'utf8')).trim();
    return fetch(`${url}/v2/teams/${team_id}/webhooks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': 'one' },
      body: JSON.stringify({ url: `${url}/internal` }),
    });
  });
  expect(result.status).toBe(status);
});

describe('local reset', () => {
  it('deletes the files of the service, but no other files in its directory', async () => {
    const folder = await temporaryFolder();
    await mkdir(path.join(folder, 'project', 'src'), { recursive: true });
    await writeFile(path.join(folder, 'project', 'token.txt'), 'mine');
    await whileServing(folder, ['--data-dir', 'project'], async () => undefined);
    const reset = await runCli(['local', 'reset', '--data-dir', 'project', '--yes'], { env: folderEnv(folder), cwd: folder });
    expect(reset).toMatchObject({ code: 0, stdout: expect.stringContaining('Deleted') });
    expect(reset.stderr).toContain('were kept, such as');
    expect((await readdir(path.join(folder, 'project'))).sort()).toEqual(['src', 'token.txt']);
  });

  it('does not delete the data of a service that does not respond, but deletes damaged data', async () => {
    // It has the lock, but no state says where it listens.
    const service = await startTestService();
    const refusal = await service.cli(['local', 'reset', '--data-dir', service.dataDirectory, '--yes', '--json']);
    expect(refusal).toMatchObject({ code: 6, stdout: '' });
    expect(JSON.parse(refusal.stderr)).toMatchObject({ error: { code: 'data_directory_in_use' } });
    expect((await service.cli(['agents', 'list'])).code).toBe(0);
    const folder = await temporaryFolder();
    await mkdir(path.join(folder, 'bad'));
    await writeFile(path.join(folder, 'bad', 'aops.db'), 'hello');
    const reset = await runCli(['local', 'reset', '--data-dir', 'bad', '--yes'], { env: folderEnv(folder), cwd: folder });
    expect(reset).toMatchObject({ code: 0, stderr: '' });
    expect(await readdir(folder)).not.toContain('bad');
  });
});

describe('a service of aops serve', () => {
  it('is found by local status and open, but not stopped by down or deleted by reset', async () => {
    const folder = await temporaryFolder();
    const local = (...argv: string[]) => runCli(['local', ...argv], { env: folderEnv(folder), cwd: folder });
    await whileServing(folder, ['--public-url', 'https://agents.example.com'], async () => {
      const status = (await local('status', '--json')).json<{ url: string; pid: number }>();
      expect(status).toMatchObject({ running: true, started_with: 'serve', public_url: 'https://agents.example.com', profile: null });
      expect((await local('status')).stdout).toContain('Started with\t`aops serve`\nURL\thttp://127.0.0.1:');
      const openResult = (await local('open', '--json')).json<{ url: string }>();
      expect(openResult.url).toMatch(/^https:\/\/agents\.example\.com\/#code=[\w-]{32}&view=\/$/);
      const code = new URLSearchParams(new URL(openResult.url).hash.slice(1)).get('code');
      const headers = { 'content-type': 'application/json', origin: 'https://agents.example.com' };
      const signedIn = await fetch(`${status.url}/page/session`, { method: 'POST', headers, body: JSON.stringify({ code }) });
      expect(signedIn.status).toBe(200);
      for (const argv of [['down'], ['reset', '--yes']]) {
        const refusal = await local(...argv, '--json');
        expect(refusal.code).toBe(6);
        expect(JSON.parse(refusal.stderr)).toMatchObject({ error: { code: 'service_served', hint: expect.stringContaining('kill ') } });
      }
      expect((await local('logs')).stderr).toContain('which writes its log to stderr.');
      expect((await local('status', '--json')).json()).toMatchObject({ running: true });
    });
    const finalStatus = (await local('status', '--json')).json<Record<string, unknown>>();
    expect(finalStatus).toMatchObject({ running: false, started_with: null });
  });

  it('is found in another data directory with --data-dir, and over TLS with its recorded certificate', async () => {
    const folder = await temporaryFolder();
    await writeFile(path.join(folder, 'cert.pem'), certificate('server').cert);
    await writeFile(path.join(folder, 'key.pem'), certificate('server').key);
    const local = (...argv: string[]) => runCli(['local', ...argv], { env: folderEnv(folder), cwd: folder });
    const argv = ['--data-dir', 'other', '--tls-cert', 'cert.pem', '--tls-key', 'key.pem'];
    await whileServing(folder, argv, async () => {
      expect((await local('status', '--jq', '.running')).stdout).toBe('false\n');
      expect((await local('open')).stderr).toContain('--data-dir');
      expect((await local('status', '--data-dir', 'other', '--jq', '.running')).stdout).toBe('true\n');
      // No certificate authority is needed, because the service recorded its certificate.
      const openResult = await local('open', '--data-dir', 'other', '--json');
      expect(openResult.json<{ url: string }>().url).toMatch(/^https:\/\/127\.0\.0\.1:\d+\/#code=/);
    });
  });
});
