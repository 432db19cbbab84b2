/** Attempts to break out of a sandbox, as the user of the tests and, if that is root, also as another user. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, chown, mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { rolldown } from 'rolldown';
import { beforeAll, expect, it } from 'vitest';
import { listening, needsContainment } from '../../support/contained.ts';
import { describeNeeding, itNeeding, type Missing } from '../../support/requirements.ts';
import { temporaryFolder, whenDone } from '../../support/temporary.ts';
import type { Order, Orders, Outcome } from './escape-driver.ts';

const mebibyte = 1024 * 1024;
const isRoot = process.getuid?.() === 0;
const nobody = 65_534;
const users: [name: string, uid: number | undefined, missing: Missing][] = [
  ['the user of the tests', undefined, needsContainment],
  ['another user than root', nobody, isRoot ? needsContainment : 'the tests do not run as root'],
];
/** Only a control group limits the number of processes of root. */
const hasProcessGroups = existsSync('/sys/fs/cgroup/pids/cgroup.procs') || existsSync('/sys/fs/cgroup/cgroup.controllers');
const needsProcessLimit = (owner: number): Missing =>
  owner === 0 && !hasProcessGroups ? 'this machine has no control groups, which alone limit the processes of root' : undefined;

/** The arguments of all processes of this machine. */
function processes(): string[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      return /^\d+$/.test(name) ? [readFileSync(`/proc/${name}/cmdline`, 'utf8')] : [];
    } catch {
      return [];
    }
  });
}

const connect = (target: string): string =>
  `"$(command -v node)" -e 'const socket = require("node:net").connect(${target}); socket.on("connect", () => { console.log("connected"); process.exit(); }).on("error", (error) => console.log(error.code));'`;

/** Each writes ESCAPED if something succeeds that must not. */
function attempts({ data, folder, port, uid }: { data: string; folder: string; port: number; uid: number }): Record<string, Order> {
  const escaped = (command: string): string => `if ${command}; then echo ESCAPED: '${command.replaceAll("'", '')}'; fi`;
  const each = (...commands: string[]): Order => ({ command: commands.map(escaped).join('\n') });
  return {
    'reading files of other runs': each(`cat ${data}/sandboxes/other/workspace/secret.txt`, `ls ${data}/sandboxes | grep -v own`),
    'reading the data directory': each(
      `cat ${data}/token`,
      `ls ${data} | grep -v -e contained -e sandboxes`,
      `cat ${data}/contained/passwd`,
    ),
    'reading accounts and homes': each(
      'cat /etc/shadow',
      'ls /root',
      'ls /home',
      'cat /etc/ssh/ssh_host_ed25519_key',
      'ls /var',
      `ls ${folder}/socket`,
    ),
    // The data directory is in /tmp here, so that a file in it is only created in the /tmp of the sandbox. Another test checks the host.
    'writing outside': each(
      `touch ${data}/escaped && false`,
      ...['/', '/usr', '/etc', '/proc/sys/kernel', `${data}/sandboxes/other`, '/dev', '/run'].map((place) => `touch ${place}/escaped`),
      'cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern',
      'echo 1 > /proc/sys/vm/drop_caches',
      'sh -c "echo x >> /proc/1/exe"',
    ),
    'following links in the workspace': each(
      `ln -sf ${data}/token link && cat link`,
      'ln -sfn / root && ls root/home',
      `ln -sfn ../../other other && cat other/workspace/secret.txt`,
      `mv ../workspace ../moved`,
      `ln -f ${data}/token hard`,
    ),
    'connecting to the service': { command: connect(`${port}, "127.0.0.1"`) },
    'connecting to a Unix socket in a file': { command: connect(JSON.stringify(path.join(folder, 'socket'))) },
    'connecting to an abstract Unix socket': { command: connect(`"\\0aops-escape-${uid}"`) },
    'reaching another network': { command: connect('80, "1.1.1.1"') },
    'mounting and namespaces': each(
      'mount -t tmpfs none /tmp',
      'mount -o remount,rw /usr',
      'umount /proc',
      'unshare -Ur true',
      'chroot / true',
    ),
    'seeing other processes': each(
      `kill -0 ${process.pid}`,
      `grep -q [v]itest /proc/[0-9]*/cmdline`,
      'test $(ls -d /proc/[0-9]* | wc -l) -gt 10',
    ),
    'gaining rights': {
      command:
        'cp /bin/sh mine && chmod 4755 mine && ./mine -p -c "grep -E ^Cap /proc/self/status"; grep NoNewPrivs /proc/self/status; su -c id; rm -f mine',
    },
    'leaving a daemon': { command: `setsid sh -c 'sleep 4242.${uid}' >/dev/null 2>&1 </dev/null & sleep 0.2; echo done` },
    'starting many processes': {
      command: 'i=0; while [ $i -lt 200 ]; do sleep 30 & i=$((i+1)); done; echo ESCAPED',
      limits: { processes: 50 },
    },
    'a fork bomb that is ended': {
      command: `bomb() { sleep 4343.${uid} & bomb | bomb & }; bomb; wait`,
      limits: { processes: 50 },
      endAfter: 700,
    },
    'using much memory': {
      command: 'head -c 400000000 /dev/zero | tail -c 400000000 | wc -c',
      limits: { memory: 64 * mebibyte },
    },
    'writing a large file': { command: 'head -c 3000000 /dev/zero > large; wc -c < large; rm large', limits: { fileSize: mebibyte } },
    'filling /tmp and /dev/shm': {
      command: 'for place in /tmp /dev/shm; do head -c 3000000 /dev/zero > $place/large; wc -c < $place/large; done',
      limits: { temporarySize: mebibyte },
    },
  };
}

for (const [name, uid, missing] of users) {
  describeNeeding(missing, `a contained program of ${name} fails at`, () => {
    const owner = uid ?? process.getuid?.() ?? 0;
    let data: string;
    let outcomes: Record<string, Outcome>;
    let connections: () => number;
    const outcome = (attempt: string): Outcome => outcomes[attempt] as Outcome;

    beforeAll(async () => {
      const folder = await temporaryFolder();
      await chmod(folder, 0o755);
      data = path.join(folder, 'data');
      const built = path.join(folder, 'driver.mjs');
      const bundle = await rolldown({ input: path.join(import.meta.dirname, 'escape-driver.ts'), platform: 'node', logLevel: 'silent' });
      await bundle.write({ file: built, format: 'esm' });
      await bundle.close();
      await mkdir(path.join(data, 'sandboxes/other/workspace'), { recursive: true, mode: 0o700 });
      await writeFile(path.join(data, 'sandboxes/other/workspace/secret.txt'), 'secret of another run');
      await writeFile(path.join(data, 'token'), 'secret of the owner');
      if (uid !== undefined)
        for (const place of [
          '',
          'token',
          'sandboxes',
          'sandboxes/other',
          'sandboxes/other/workspace',
          'sandboxes/other/workspace/secret.txt',
        ])
          await chown(path.join(data, place), uid, uid);
      const open = await listening();
      connections = open.connections;
      for (const address of [path.join(folder, 'socket'), `\0aops-escape-${owner}`]) {
        const server = createServer((socket) => socket.end());
        await new Promise<void>((resolve) => server.listen(address, resolve));
        if (!address.startsWith('\0')) await chmod(address, 0o777);
        whenDone(() => new Promise<void>((resolve) => server.close(() => resolve())));
      }
      const orders: Orders = {
        ...{ dataDirectory: data, port: open.port, searchPath: process.env.PATH ?? '' },
        orders: attempts({ data, folder, port: open.port, uid: owner }),
      };
      await writeFile(path.join(folder, 'orders.json'), JSON.stringify(orders));
      const identity = uid === undefined ? {} : { uid, gid: uid };
      const { stdout } = await promisify(execFile)(process.execPath, [built, path.join(folder, 'orders.json')], {
        ...identity,
        cwd: folder,
        env: { PATH: process.env.PATH ?? '' },
      });
      outcomes = JSON.parse(stdout) as Record<string, Outcome>;
    }, 50_000);

    it.each([
      'reading files of other runs',
      'reading the data directory',
      'reading accounts and homes',
      'writing outside',
      'following links in the workspace',
      'mounting and namespaces',
      'seeing other processes',
    ])('%s', (attempt) => {
      expect(outcome(attempt).stdout).toBe('');
      // Every part was really tried.
      expect(outcome(attempt).stderr).not.toMatch(/[Ss]yntax error|command not found/);
    });

    it('writing outside leaves nothing on the host', async () => {
      for (const place of ['/', '/usr', '/etc', '/run', data]) expect(await readdir(place)).not.toContain('escaped');
      expect(await readdir(path.join(data, 'sandboxes/other'))).toEqual(['workspace']);
      expect(await readdir(path.join(data, 'sandboxes'))).toEqual(['other', 'own']);
    });

    it.each([
      ['connecting to the service', 'ECONNREFUSED'],
      ['connecting to a Unix socket in a file', 'ENOENT'],
      ['connecting to an abstract Unix socket', 'ECONNREFUSED'],
      ['reaching another network', 'ENETUNREACH'],
    ])('%s', (attempt, code) => {
      expect(outcome(attempt).stdout.trim()).toBe(code);
      expect(connections()).toBe(0);
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
      expect(processes().filter((line) => line.includes(`4242.${owner}`))).toEqual([]);
    });

    itNeeding(needsProcessLimit(owner), 'starting many processes', () => {
      expect(outcome('starting many processes').stdout).toBe('');
      expect(outcome('starting many processes').stderr).toMatch(/fork|Resource temporarily unavailable/i);
    });

    it('surviving as a fork bomb', () => {
      expect(processes().filter((line) => line.includes(`4343.${owner}`))).toEqual([]);
    });

    it('using much memory', () => {
      expect(outcome('using much memory').stdout.trim()).not.toBe('400000000');
    });

    it('writing a large file, and filling memory with files', async () => {
      expect(Number(outcome('writing a large file').stdout)).toBe(mebibyte);
      for (const size of outcome('filling /tmp and /dev/shm').stdout.trim().split('\n')) expect(Number(size)).toBeLessThanOrEqual(mebibyte);
      expect((await stat(path.join(data, 'sandboxes/own/workspace'))).isDirectory()).toBe(true);
    });
  });
}
