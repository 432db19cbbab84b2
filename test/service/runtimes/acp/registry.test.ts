import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { ServiceError } from '../../../../src/service/errors.ts';
import {
  acpAgent,
  acpRegistry,
  findAcpAgent,
  installHint,
  readRegistry,
  registeredNames,
} from '../../../../src/service/runtimes/acp/registry.ts';

/** A copy of the snapshot that a test may change. */
const copy = (): { agents: Record<string, unknown>[] } & Record<string, unknown> => JSON.parse(JSON.stringify(acpRegistry()));
const first = (agents: Record<string, unknown>[]): Record<string, unknown> => agents[0] as Record<string, unknown>;

describe('the registry of agents', () => {
  it.each([
    ['claude', 'claude-acp'],
    ['claude-acp', 'claude-acp'],
    ['gemini', 'gemini'],
  ])('finds %s by its ID or alias', (name, id) => {
    expect(findAcpAgent(name)?.id).toBe(id);
    expect(acpAgent(name)).toBe(findAcpAgent(name));
  });

  it('suggests the nearest name for an unknown one', () => {
    expect(findAcpAgent('clade')).toBeUndefined();
    expect(() => acpAgent('clade')).toThrow(
      new ServiceError(
        400,
        'acp_agent_not_found',
        `The registry contains no agent clade. Did you mean claude? It contains ${registeredNames().join(', ')}; specify the command of any other agent.`,
      ),
    );
  });

  it('says how each agent is installed', () => {
    expect(installHint(acpAgent('gemini'))).toBe('Install it with: npm install --global @google/gemini-cli@0.61.0');
    expect(installHint(acpAgent('goose'))).toBe('Install goose as described at https://block.github.io/goose.');
  });

  it('describes the versions that the tests with real agents use', () => {
    const manifest = readFileSync(path.join(import.meta.dirname, '../../../agents/package.json'), 'utf8');
    const { dependencies, optionalDependencies } = JSON.parse(manifest) as Record<string, Record<string, string>>;
    const pins: Record<string, string | undefined> = { ...dependencies, 'opencode-ai': optionalDependencies?.['opencode-linux-x64'] };
    const pinnedPackages = acpRegistry().agents.flatMap(({ distribution: { npx }, version }) =>
      npx !== undefined && npx.package in pins ? [[version, pins[npx.package]]] : [],
    );
    expect(pinnedPackages).toHaveLength(4);
    for (const [version, pin] of pinnedPackages) expect(version).toBe(pin);
  });

  it('claims to know how an agent is made to ask only if that was observed, or says that it is unknown', () => {
    for (const { id, asking, verified } of acpRegistry().agents) expect([id, verified.includes('asking')]).toEqual([id, asking !== null]);
  });

  it.each<[string, (value: ReturnType<typeof copy>) => void, string]>([
    ['a missing property', ({ agents }) => delete first(agents).hosts, '/agents/0'],
    ['an unknown property', ({ agents }) => Object.assign(first(agents), { icon: 'a.svg' }), '/agents/0'],
    ['an invalid ID', ({ agents }) => Object.assign(first(agents), { id: 'Claude!' }), '/agents/0/id'],
    ['a name that appears twice', ({ agents }) => Object.assign(first(agents), { alias: 'gemini' }), 'gemini appears twice'],
    [
      'no distribution',
      ({ agents }) => Object.assign(first(agents), { distribution: { platforms: [] } }),
      'either an npm package or a binary',
    ],
  ])('rejects a snapshot with %s', (_, change, message) => {
    const value = copy();
    change(value);
    expect(() => readRegistry(value)).toThrow(message);
  });
});
