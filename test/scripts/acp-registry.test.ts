/** Bringing the bundled registry of agents up to date. */
import { describe, expect, it } from 'vitest';
import { merge, nodePlatform } from '../../scripts/acp-registry/merge.js';
import { type AcpAgent, acpRegistry, readRegistry } from '../../src/service/runtimes/acp/registry.ts';

const snapshot = acpRegistry();
const agentOf = (agents: readonly AcpAgent[], id: string): AcpAgent => agents.find((agent) => agent.id === id) as AcpAgent;

const gemini = { id: 'gemini', version: '0.70.0', distribution: { npx: { package: '@google/gemini-cli@0.70.0', args: ['--acp'] } } };
const { version } = agentOf(snapshot.agents, 'claude-acp');
const claude = { id: 'claude-acp', version, distribution: { npx: { package: `@agentclientprotocol/claude-agent-acp@${version}` } } };
const goose = {
  id: 'goose',
  version: '2.0.0',
  distribution: {
    binary: { 'windows-x86_64': { cmd: 'goose.exe', args: ['serve'] }, 'linux-aarch64': { cmd: './goose', args: ['serve'] } },
  },
};
const kilo = { id: 'kilo', version: '8.0.0', distribution: { npx: { package: '@kilo/cli', cmd: 'kilo-cli', env: { KILO_UPDATES: '0' } } } };
const fresh = { id: 'fresh', version: '1.0.0', distribution: { uvx: { package: 'fresh' } } };

describe('a newer registry', () => {
  const mergeResult = merge(snapshot, { agents: [gemini, claude, goose, kilo, fresh] }, '2027-01-02');
  const { agents } = mergeResult.snapshot;

  it('changes versions and commands, and forgets what was verified with the old ones', () => {
    const { distribution, verified, login, ...rest } = agentOf(agents, 'gemini');
    expect([rest.version, distribution.npx?.package, distribution.npx?.program]).toEqual(['0.70.0', '@google/gemini-cli', 'gemini']);
    expect(verified).toEqual([]);
    expect(login).toBe(agentOf(snapshot.agents, 'gemini').login);
    expect(mergeResult.changed).toEqual(['gemini', 'kilo', 'goose']);
    expect(mergeResult.snapshot.date).toBe('2027-01-02');
  });

  it('leaves agents unchanged that have not changed', () => {
    expect(agentOf(agents, 'claude-acp')).toEqual(agentOf(snapshot.agents, 'claude-acp'));
  });

  it('takes over programs, variables and platforms', () => {
    expect(agentOf(agents, 'kilo')).toMatchObject({
      version: '8.0.0',
      distribution: { npx: { package: '@kilo/cli', program: 'kilo-cli', args: [] } },
      environment: { KILO_UPDATES: '0' },
    });
    expect(agentOf(agents, 'goose').distribution).toEqual({
      binary: { program: 'goose', args: ['serve'] },
      platforms: ['linux-arm64', 'win32-x64'],
    });
  });

  it('names the agents that it lacks and those that are new', () => {
    expect(mergeResult.missing).toContain('cursor');
    expect(mergeResult.missing).not.toContain('goose');
    expect(mergeResult.unlisted).toEqual(['fresh']);
  });

  it('leads to a valid snapshot', () => {
    expect(readRegistry(JSON.parse(JSON.stringify(mergeResult.snapshot))).agents).toHaveLength(snapshot.agents.length);
  });

  it('is rejected if it contains a platform that the format does not define', () => {
    expect(() => nodePlatform('plan9-x86_64')).toThrow('Unknown platform plan9-x86_64');
  });
});
