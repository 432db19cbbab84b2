/** The files in deploy/ name commands, flags, variables, and addresses that exist, and fit together. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readDocument, root } from '../docs/markdown.ts';
import { itNeeding, needsProgram } from '../support/requirements.ts';

const folder = path.join(root, 'deploy');
const read = (name: string): string => readFileSync(path.join(folder, name), 'utf8');

/** The flags of `aops serve`, as its manual lists them. */
const flags = [...readDocument('docs/manual/serve.md').matchAll(/^\| `(--[a-z-]+)/gm)].map(([, flag = '']) => flag);
const variables = readDocument('docs/manual/topics.md');
/** The flags of a list of arguments that `aops serve` does not have. */
const unknownFlags = (text: string): string[] => (text.match(/--[a-z][a-z-]+/g) ?? []).filter((flag) => !flags.includes(flag));

interface Compose {
  services: Record<string, { command?: string[]; environment?: Record<string, string>; networks: string[]; healthcheck?: unknown }>;
  networks: { inside: { internal: boolean; ipam: { config: { subnet: string }[] } } };
}
interface Probe {
  httpGet: { path: string; port: string; httpHeaders: object[] };
}
interface Container {
  args: string[];
  env: { name: string; valueFrom: object }[];
  ports: { name: string; containerPort: number }[];
  volumeMounts: { name: string }[];
  startupProbe: Probe;
  livenessProbe: Probe;
  readinessProbe: Probe;
}
interface Deployment {
  metadata: { name: string };
  spec: {
    selector: { matchLabels: object };
    template: {
      metadata: { labels: object };
      spec: { containers: [Container]; volumes: { name: string }[]; terminationGracePeriodSeconds: number };
    };
  };
}

/** Seconds of a flag such as `--drain-delay=5s`; 0 without it. */
const secondsOf = (args: readonly string[], flag: string, otherwise: number): number =>
  Number(args.find((arg) => arg.startsWith(`${flag}=`))?.replace(/^.*=(\d+)s$/, '$1') ?? otherwise);
/** The longest time that stopping takes: the drain delay, and twice the drain timeout. */
const stopSeconds = (args: readonly string[]): number => secondsOf(args, '--drain-delay', 0) + 2 * secondsOf(args, '--drain-timeout', 5);

describe('the container', () => {
  const file = read('Containerfile');

  it('starts the service with flags that it has, on the port that it exposes', () => {
    const command = JSON.parse(/^CMD (\[.*\])$/m.exec(file)?.[1] ?? '[]') as string[];
    expect(command[0]).toBe('serve');
    expect(unknownFlags(command.join(' '))).toEqual([]);
    expect(command.at(-1)).toBe(/^EXPOSE (\d+)$/m.exec(file)?.[1]);
    expect(file).toContain(`http://127.0.0.1:${command.at(-1)}/healthz`);
  });

  it('copies files that exist, and leaves out none that the build needs', () => {
    const copied = /^COPY (?!--from|\. )(.*) \.\/$/m.exec(file)?.[1]?.split(' ') ?? [];
    expect(copied).not.toEqual([]);
    expect(copied.filter((name) => !existsSync(path.join(root, name)))).toEqual([]);
    const published = (JSON.parse(readDocument('package.json')) as { files: string[] }).files;
    const ignored = read('Containerfile.dockerignore').split('\n');
    // The build creates dist.
    expect(published.filter((name) => name !== 'dist' && ignored.includes(name))).toEqual([]);
  });

  it('uses the oldest supported version of Node or a later one', () => {
    const { engines } = JSON.parse(readDocument('package.json')) as { engines: { node: string } };
    expect(Number(/node:(\d+)/.exec(file)?.[1])).toBeGreaterThanOrEqual(Number(/>=(\d+)/.exec(engines.node)?.[1]));
  });
});

describe('the compose file', () => {
  const { services, networks } = parse(read('compose/compose.yaml'), { merge: true }) as Compose;
  const nodes = Object.entries(services).filter(([, { command }]) => command?.[0] === 'serve');

  it('starts two nodes with flags and variables that exist', () => {
    expect(nodes.map(([name]) => name)).toEqual(['node-1', 'node-2']);
    for (const [, { command = [], environment = {} }] of nodes) {
      expect(unknownFlags(command.join(' '))).toEqual([]);
      const own = Object.keys(environment).filter((name) => name.startsWith('AOPS_'));
      expect(own).not.toEqual([]);
      expect(own.filter((name) => !variables.includes(`\`${name}\``))).toEqual([]);
    }
  });

  it('keeps the nodes without TLS on a network of their own, whose addresses they trust', () => {
    expect(networks.inside.internal).toBe(true);
    for (const [, { command = [], networks: names }] of nodes) {
      expect(names).toEqual(['inside']);
      expect(command).toContain('--insecure-http');
      expect(command).toContain(`--trust-proxy=${networks.inside.ipam.config[0]?.subnet}`);
    }
  });

  it('has a proxy that knows all nodes', () => {
    const addresses = nodes.map(([name, { command = [] }]) => `${name}:${command.find((arg) => arg.startsWith('--port='))?.slice(7)}`);
    expect(services.proxy?.environment?.AOPS_NODES?.split(' ')).toEqual(addresses);
  });

  it('gives a node enough time to stop', () => {
    const grace = Number(/stop_grace_period: (\d+)s/.exec(read('compose/compose.yaml'))?.[1]);
    for (const [, { command = [] }] of nodes) expect(grace).toBeGreaterThan(stopSeconds(command));
  });

  itNeeding(needsProgram('caddy', ['version']), 'has a Caddyfile that Caddy accepts', () => {
    const { status, stderr } = spawnSync('caddy', ['validate', '--adapter', 'caddyfile', '--config', 'compose/Caddyfile'], {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, AOPS_NODES: '127.0.0.1:4011 127.0.0.1:4012' },
    });
    expect(status, stderr).toBe(0);
  });
});

describe('the manifests for Kubernetes', () => {
  const manifest = (name: string): unknown => parse(read(`kubernetes/${name}`));
  const deployment = manifest('deployment.yaml') as Deployment;
  const pod = deployment.spec.template;
  const [container] = pod.spec.containers;

  it('are all part of the kustomization', () => {
    const names = readdirSync(path.join(folder, 'kubernetes')).filter((name) => name !== 'kustomization.yaml');
    const { resources } = manifest('kustomization.yaml') as { resources: string[] };
    expect([...resources].sort()).toEqual(names.sort());
  });

  it('start the service with flags and variables that exist', () => {
    expect(unknownFlags(container.args.join(' '))).toEqual([]);
    const own = container.env.map(({ name }) => name).filter((name) => name.startsWith('AOPS_'));
    expect(own.filter((name) => !variables.includes(`\`${name}\``))).toEqual([]);
    // Every variable in the arguments is set.
    for (const [, name = ''] of container.args.join(' ').matchAll(/\$\((\w+)\)/g))
      expect(container.env.map((variable) => variable.name)).toContain(name);
  });

  it('probe addresses of the service, under a name that it answers to', () => {
    for (const [probe, address] of [
      ['startupProbe', '/healthz'],
      ['livenessProbe', '/healthz'],
      ['readinessProbe', '/readyz'],
    ] as const) {
      const { httpGet } = container[probe];
      expect(httpGet.path).toBe(address);
      expect(httpGet.port).toBe(container.ports[0]?.name);
      expect(httpGet.httpHeaders).toEqual([{ name: 'Host', value: 'localhost' }]);
    }
    expect(container.args).toContain(`--port=${container.ports[0]?.containerPort}`);
  });

  it('select the pods of the deployment, and mount volumes that exist', () => {
    const labels = pod.metadata.labels;
    expect(deployment.spec.selector.matchLabels).toEqual(labels);
    expect((manifest('service.yaml') as { spec: { selector: object } }).spec.selector).toEqual(labels);
    const budget = manifest('disruption-budget.yaml') as { spec: { selector: { matchLabels: object } } };
    expect(budget.spec.selector.matchLabels).toEqual(labels);
    expect(container.volumeMounts.map(({ name }) => name)).toEqual(pod.spec.volumes.map(({ name }) => name));
  });

  it('give a node enough time to stop', () => {
    expect(pod.spec.terminationGracePeriodSeconds).toBeGreaterThan(stopSeconds(container.args));
  });
});

describe.each(['aops.service', 'aops-node.service'])('the systemd unit %s', (name) => {
  const unit = read(`systemd/${name}`);

  it('starts the service with flags that it has, and gives it enough time to stop', () => {
    const command = /^ExecStart=(.*)$/m.exec(unit)?.[1] ?? '';
    expect(command).toMatch(/^\/usr\/bin\/aops serve /);
    expect(unknownFlags(command)).toEqual([]);
    const args = command.replaceAll(/(--[a-z-]+) (?!--)/g, '$1=').split(' ');
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).toBeGreaterThan(stopSeconds(args));
  });

  itNeeding(needsProgram('systemd-analyze', ['--version']), 'is accepted by systemd', () => {
    const { stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', `systemd/${name}`], { cwd: folder, encoding: 'utf8' });
    // The program is not installed on the machine of the tests.
    const problems = stderr.split('\n').filter((line) => line !== '' && !line.includes('/usr/bin/aops is not executable'));
    expect(problems).toEqual([]);
  });
});

it('the README of deploy/ names every file and folder in it', () => {
  const text = read('README.md');
  for (const name of readdirSync(folder)) if (!/README|dockerignore/.test(name)) expect(text).toContain(name);
});
