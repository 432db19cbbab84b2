/**
 * Attempts of a program to reach what it must not reach. Each is a shell command that succeeds if the program got through. So that no
 * attempt fails for an unrelated reason, such as a typing error or a missing tool, those that do no harm are also made at the level
 * `host`, where they succeed.
 */
import { existsSync, readFileSync } from 'node:fs';
import process from 'node:process';

export interface Scene {
  /** The data directory. The run is `sandboxes/own`; there are a token and the run `sandboxes/other`. */
  data: string;
  /** The folder of the data directory, in which there are also a Unix socket and a home with a key. */
  folder: string;
  /** A variable in the environment of the service contains this text. */
  secret: string;
  /** A process of the same user. */
  bystander: number;
}

export interface Attempt {
  command: string;
  /** Who gets through at the level `host`; undefined if nobody does, or if the attempt would change the machine. */
  host?: 'everyone' | 'root';
}

const everyone = (...commands: string[]): Attempt[] => commands.map((command) => ({ command, host: 'everyone' }));
const root = (...commands: string[]): Attempt[] => commands.map((command) => ({ command, host: 'root' }));
const nobody = (...commands: string[]): Attempt[] => commands.map((command) => ({ command }));

/** The number of the system call, which no usual program makes on request. */
const ptrace = ({ x64: 101, arm64: 117 } as Record<string, number>)[process.arch];
const hasPerl = existsSync('/usr/bin/perl');
const isTracingFree = (): boolean => {
  const file = '/proc/sys/kernel/yama/ptrace_scope';
  return !existsSync(file) || readFileSync(file, 'utf8').trim() === '0';
};

/** PTRACE_SEIZE (0x4206), which does not stop the process. */
const tracing = (pid: number): Attempt[] =>
  ptrace === undefined || !hasPerl
    ? []
    : [
        {
          command: `perl -e 'exit(syscall(${ptrace}, 0x4206, ${pid}, 0, 0) == 0 ? 0 : 1)'`,
          host: isTracingFree() ? 'everyone' : 'root',
        },
      ];

/** KEYCTL_GET_KEYRING_ID of the key ring of the session (-3). Some kernels have no key rings. */
const keyctl = ({ x64: 250, arm64: 219 } as Record<string, number>)[process.arch];
const keyRings: Attempt[] =
  keyctl === undefined || !hasPerl
    ? []
    : [
        {
          command: `perl -e 'exit(syscall(${keyctl}, 0, -3, 0) >= 0 ? 0 : 1)'`,
          ...(existsSync('/proc/keys') ? { host: 'everyone' } : {}),
        },
      ];

export const attemptsIn = ({ data, folder, secret, bystander }: Scene): Record<string, Attempt[]> => ({
  'reading files of other runs': everyone(
    `cat ${data}/sandboxes/other/workspace/secret.txt`,
    `ls ${data}/sandboxes | grep -v own`,
    'cat ../../other/workspace/secret.txt',
  ),
  'reading the data directory': [
    ...everyone(`cat ${data}/token`, `ls ${data} | grep -v -e contained -e sandboxes`),
    ...nobody(`cat ${data}/contained/passwd`),
  ],
  'reading accounts and homes': [
    ...everyone(`cat ${folder}/home/.npmrc`, 'ls /home', 'ls /var', `ls ${folder}/socket`),
    ...root('cat /etc/shadow', 'ls /root'),
    ...nobody('cat /etc/ssh/ssh_host_ed25519_key', 'ls ~root', 'cat "$OLDPWD"/token'),
  ],
  'reading the environment of the service': everyone(
    `grep -qs ${secret} /proc/[0-9]*/environ`,
    `cat /proc/[0-9]*/environ 2>/dev/null | grep -q ${secret}`,
  ),
  'writing outside': [
    ...everyone(`touch ${data}/sandboxes/other/escaped`),
    // The data directory is in /tmp here, so that a file in it is only created in the /tmp of the sandbox. Another test checks the host.
    ...nobody(
      `touch ${data}/escaped && false`,
      ...['/', '/usr', '/etc', '/proc/sys/kernel', '/dev', '/run'].map((place) => `touch ${place}/escaped`),
      'cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern',
      'echo 1 > /proc/sys/vm/drop_caches',
      'echo h > /proc/sysrq-trigger',
      'sh -c "echo x >> /proc/1/exe"',
      'mv ../workspace ../moved',
    ),
  ],
  'following links in the workspace': [
    ...everyone(
      `ln -sf ${data}/token link && cat link`,
      'ln -sfn / root && ls root/home',
      'ln -sfn ../../other other && cat other/workspace/secret.txt',
      `ln -f ${data}/token hard && cat hard`,
      `cat /proc/self/root${data}/token`,
      'cat /proc/self/cwd/../../other/workspace/secret.txt',
      'ln -sfn /proc/self/cwd/../../other cwd && cat cwd/workspace/secret.txt',
      `cat /dev/fd/../root${data}/token`,
    ),
    ...nobody(`cat /proc/1/root${data}/token`),
  ],
  'reaching other processes': [
    ...everyone(
      `kill -0 ${bystander}`,
      `ls /proc/${bystander}/fd`,
      `ls /proc/${bystander}/cwd/`,
      `cat /proc/${bystander}/root${data}/token`,
      `cat /proc/${bystander}/environ`,
      `grep -q [v]itest /proc/[0-9]*/cmdline`,
      'test $(ls -d /proc/[0-9]* | wc -l) -gt 10',
    ),
    ...tracing(bystander),
    ...root(`nsenter --target ${bystander} --mount true`, `kill -0 ${process.pid}`),
    ...nobody(`kill -KILL ${bystander}`, `cat /proc/${bystander}/mem`),
  ],
  'using the key rings of the session': keyRings,
  'using devices': [
    ...root('mknod memory c 1 1', 'mknod disk b 254 0'),
    ...nobody(
      'ls /dev | grep -E "^(sd|vd|xvd|nvme|mapper|dm-|mem$|kmsg$|port$|kvm$|fuse$|net$|input$|snd$|tty[0-9S])"',
      'head -c 1 /dev/mem',
      'dd if=/dev/kmsg bs=8192 count=1',
      'head -c 1 /proc/kcore',
    ),
  ],
  'mounting and namespaces': [
    ...everyone('unshare --user --map-root-user true'),
    ...root('unshare --mount sh -c "mount -t tmpfs none /tmp"', 'unshare --net true', 'chroot / true'),
    ...nobody(
      'mount -t tmpfs none /tmp',
      'mount --bind / /tmp',
      'mount -o remount,rw /usr',
      'umount /proc',
      'umount -l /tmp',
      'nsenter --target 1 --mount true',
      'pivot_root . .',
    ),
  ],
});
