/** Attempts to break out, at each level, as the user of the tests and, if that is root, also as another user. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import process from 'node:process';
import { beforeAll, expect, it } from 'vitest';
import { listening } from '../../support/contained.ts';
import { isAlive } from '../../support/processes.ts';
import { describeNeeding, itNeeding, needsLinux, needsProgram } from '../../support/requirements.ts';
import { whenDone } from '../../support/temporary.ts';
import { commandLines, type DriverUser, drive, ownerOf, type Stage, stageFor, users } from './drive.ts';
import { type Attempt, attemptsIn, type Scene } from './escape-attempts.ts';
import type { Order, Outcome } from './escape-driver.ts';

const needsTerminal = needsProgram('script', ['--version']);
const secret = 'secret-in-the-environment';
const files = {
  token: 'secret of the owner',
  'sandboxes/other/workspace/secret.txt': 'secret of another run',
};

/** Prints the number of each attempt that succeeds. */
const orderFor = (attempts: readonly Attempt[]): Order => ({
  command: attempts.map(({ command }, index) => `if ( ${command} ) >/dev/null; then echo ${index}; fi`).join('\n'),
});

const connect = (target: string): Order => ({
  command: `"$(command -v node)" -e 'const socket = require("node:net").connect(${target}); socket.on("connect", () => { console.log("connected"); process.exit(); }).on("error", (error) => console.log(error.code));'`,
});

interface Setting {
  stage: Stage;
  attempts: Record<string, Attempt[]>;
  bystander: number;
  connections: () => number;
  outcomes: Record<string, Outcome>;
}

/** A process of the user that has nothing to do with the service. */
async function startBystander({ uid }: DriverUser, folder: string): Promise<number> {
  const identity = uid === undefined ? {} : { uid, gid: uid };
  const child = spawn('sleep', ['600'], { ...identity, cwd: folder, env: { PATH: process.env.PATH ?? '' }, stdio: 'ignore' });
  await once(child, 'spawn');
  whenDone(async () => void child.kill('SIGKILL'));
  return child.pid as number;
}

/** Makes all attempts at a level; at the level `host`, only those that do no harm. */
async function tryAll(user: DriverUser, level: 'contained' | 'host' | 'off'): Promise<Setting> {
  const stage = await stageFor(user, files);
  const { folder, data } = stage;
  const owner = ownerOf(user);
  await mkdir(path.join(folder, 'home'), { mode: 0o700 });
  await writeFile(path.join(folder, 'home/.npmrc'), 'secret of the user');
  for (const place of ['home', 'home/.npmrc']) await chown(path.join(folder, place), owner, user.uid ?? process.getgid?.() ?? 0);
  const { port, connections } = await listening();
  const abstract = `aops-escape-${level}-${owner}-${process.pid}`;
  for (const address of [path.join(folder, 'socket'), `\0${abstract}`]) {
    const server = createServer((socket) => socket.end());
    await new Promise<void>((resolve) => server.listen(address, resolve));
    if (!address.startsWith('\0')) await chmod(address, 0o777);
    whenDone(() => new Promise<void>((resolve) => server.close(() => resolve())));
  }
  const bystander = await startBystander(user, folder);
  const scene: Scene = { data, folder, secret, bystander };
  const isPossible = ({ host }: Attempt): boolean => host === 'everyone' || (host === 'root' && owner === 0);
  const attempts = Object.fromEntries(
    Object.entries(attemptsIn(scene)).map(([name, list]) => [name, level === 'host' ? list.filter(isPossible) : list]),
  );
  const orders: Record<string, Order> = {
    ...Object.fromEntries(Object.entries(attempts).map(([name, list]) => [name, orderFor(list)])),
    'connecting to the service': connect(`${port}, "127.0.0.1"`),
    'connecting to the service with IPv6': connect(`${port}, "::1"`),
    'connecting to a Unix socket in a file': connect(JSON.stringify(path.join(folder, 'socket'))),
    'connecting to an abstract Unix socket': connect(`"\\0${abstract}"`),
    'using the terminal of the service': orderFor([
      { command: ': </dev/tty' },
      ...[0, 1, 2].map((descriptor) => ({ command: `perl -e 'open F, "+<&=${descriptor}"; exit(ioctl(F, 0x5412, "x") ? 0 : 1)'` })),
    ]),
    ...(level === 'host' ? {} : riskyOrders(owner)),
  };
  const environment = { SERVICE_SECRET: secret, HOME: path.join(folder, 'home') };
  const outcomes = await drive(stage, { level, port, orders }, { environment, terminal: needsTerminal === undefined });
  return { stage, attempts, bystander, connections, outcomes };
}

/** What could end other processes on the host, or what the host cannot answer for certain. */
const riskyOrders = (owner: number): Record<string, Order> => ({
  'reaching another network': connect('80, "1.1.1.1"'),
  'killing everything': { command: 'kill -KILL -1' },
  'gaining rights': {
    command:
      'cp /bin/sh mine && chmod 4755 mine && ./mine -p -c "grep -E ^Cap /proc/self/status"; grep NoNewPrivs /proc/self/status; su -c id; rm -f mine',
  },
  'raising limits': orderFor(['-Hf', '-Hc'].map((limit) => ({ command: `ulimit ${limit} unlimited` }))),
  'leaving a daemon': { command: `setsid sh -c 'sleep 4242.${owner}' >/dev/null 2>&1 </dev/null & sleep 0.2; echo done` },
});

/** The commands that got through. */
const successes = ({ attempts, outcomes }: Setting, name: string): (string | undefined)[] =>
  (outcomes[name]?.stdout.match(/^\d+$/gm) ?? []).map((index) => attempts[name]?.[Number(index)]?.command ?? index);

const names = Object.keys(attemptsIn({ data: '', folder: '', secret: '', bystander: 0 }));

for (const user of users) {
  describeNeeding(user.missing, `a contained program of ${user.name} fails at`, () => {
    let setting: Setting;
    const outcome = (name: string): Outcome => setting.outcomes[name] as Outcome;
    beforeAll(async () => {
      setting = await tryAll(user, 'contained');
    });

    it.each([...names, 'raising limits'])('%s', (name) => {
      expect(successes(setting, name)).toEqual([]);
      expect(outcome(name)).toMatchObject({ stdout: '', stderr: expect.not.stringMatching(/[Ss]yntax error/) });
    });

    itNeeding(needsTerminal, 'using the terminal of the service', () => {
      expect(outcome('using the terminal of the service').stdout).toBe('');
    });

    it('writing outside leaves nothing on the host', async () => {
      const { data } = setting.stage;
      for (const place of ['/', '/usr', '/etc', '/run', data]) expect(await readdir(place)).not.toContain('escaped');
      expect(await readdir(path.join(data, 'sandboxes/other'))).toEqual(['workspace']);
      expect(await readdir(path.join(data, 'sandboxes'))).toEqual(['other', 'own']);
    });

    it.each([
      ['connecting to the service', 'ECONNREFUSED'],
      ['connecting to the service with IPv6', 'ECONNREFUSED'],
      ['connecting to a Unix socket in a file', 'ENOENT'],
      ['connecting to an abstract Unix socket', 'ECONNREFUSED'],
      ['reaching another network', 'ENETUNREACH'],
    ])('%s', (name, code) => {
      expect(outcome(name).stdout.trim()).toBe(code);
      expect(setting.connections()).toBe(0);
    });

    it('killing processes outside', () => {
      expect(outcome('killing everything').stdout).toBe('');
      expect(isAlive(setting.bystander)).toBe(true);
    });

    it('gaining rights', () => {
      const { stdout } = outcome('gaining rights');
      const capabilities = stdout.match(/^Cap\w+:\s*(\w+)$/gm) ?? [];
      expect(capabilities.length).toBeGreaterThanOrEqual(4);
      for (const line of capabilities) expect(line).toMatch(/:\s*0+$/);
      expect(stdout).toMatch(/NoNewPrivs:\s*1/);
      expect(stdout).not.toContain('uid=0');
    });

    it('leaving a daemon', () => {
      expect(outcome('leaving a daemon').stdout).toBe('done\n');
      expect(commandLines().filter((line) => line.includes(`4242.${ownerOf(user)}`))).toEqual([]);
    });
  });

  describeNeeding(needsLinux ?? user.missing, `a program of ${user.name} at the level host`, () => {
    let setting: Setting;
    beforeAll(async () => {
      setting = await tryAll(user, 'host');
    });

    // Otherwise, the attempts above would prove nothing.
    it.each(names)('can do what a contained one cannot: %s', (name) => {
      expect(successes(setting, name)).toEqual(setting.attempts[name]?.map(({ command }) => command));
    });

    it.each(['connecting to the service', 'connecting to a Unix socket in a file', 'connecting to an abstract Unix socket'])(
      'can do what a contained one cannot: %s',
      (name) => {
        expect(setting.outcomes[name]?.stdout).toBe('connected\n');
      },
    );

    itNeeding(needsTerminal, 'cannot use the terminal of the service either', () => {
      expect(setting.outcomes['using the terminal of the service']).toMatchObject({ exitCode: 0, stdout: '' });
    });
  });

  describeNeeding(user.missing, `a program of ${user.name} at the level off`, () => {
    it('is not started', async () => {
      const { outcomes, stage } = await tryAll(user, 'off');
      expect(Object.keys(outcomes).length).toBeGreaterThan(names.length);
      for (const outcome of Object.values(outcomes))
        expect(outcome).toEqual({ exitCode: null, stdout: '', stderr: '', refusal: 'exec_off' });
      expect(await readdir(path.join(stage.data, 'sandboxes/own/workspace'))).toEqual([]);
    });
  });
}
