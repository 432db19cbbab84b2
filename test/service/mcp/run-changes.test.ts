/** What the tools of a run change: in order, at most so often in a turn, and only while the run is executed. */
import { describe, expect, it } from 'vitest';
import { RunLostError } from '../../../src/service/engine/runs/run-record.ts';
import { change, maxChanges, read } from '../../../src/service/mcp/run/tool.ts';
import type { RunHost, RunTools } from '../../../src/service/runtimes/run-host.ts';
import { RunTokens } from '../../../src/service/runtimes/run-tokens.ts';
import { secretHash } from '../../../src/service/secret-hash.ts';
import { ManualClock } from '../helpers/clock.ts';

const clock = new ManualClock();

/** A host whose journal contains a number of changes. */
function hostWith(
  changes: number,
  perform?: RunTools['perform'],
): { host: RunHost; journal: Map<string, unknown>; abort: AbortController } {
  const abort = new AbortController();
  const entry = { fingerprint: 'other', process: 'earlier', result: {} };
  const journal = new Map<string, unknown>(Array.from({ length: changes }, (_, index) => [`tool-${index + 1}`, entry]));
  const tools = {
    perform: perform ?? (async (step: string, use: object) => journal.set(step, { ...use, result: { step } }) && { step }),
  };
  const run = { id: 'run-1', teamId: 'team-1', number: 1, agentName: 'Ada' };
  return { host: { run, journal, tools, signal: abort.signal } as unknown as RunHost, journal, abort };
}

const write = (path: string) => ({
  tool: 'remember',
  args: { path },
  action: { do: 'remember', write: { path, content: '', append: false } } as const,
  notice: 'It was written.',
});

describe('changes', () => {
  it('are limited in a turn', async () => {
    const { host } = hostWith(maxChanges - 1);
    const token = new RunTokens().issue(host);
    expect(await change({ token, clock }, write('a.md'))).toEqual({ step: `tool-${maxChanges}` });
    await expect(change({ token, clock }, write('b.md'))).rejects.toMatchObject({ status: 409, error: 'too_many_changes' });
  });

  it('are made one after the other, in the order in which they were requested', async () => {
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const { host, journal } = hostWith(0, async (step, use) => {
      begun.push(step);
      await new Promise<void>((resolve) => ends.push(resolve));
      journal.set(step, { ...use, result: {} });
      return {};
    });
    const token = new RunTokens().issue(host);
    const changes = [change({ token, clock }, write('a.md')), change({ token, clock }, write('b.md'))];
    while (ends.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(begun).toEqual(['tool-1']);
    ends[0]?.();
    while (ends.length === 1) await new Promise((resolve) => setImmediate(resolve));
    expect(begun).toEqual(['tool-1', 'tool-2']);
    ends[1]?.();
    await Promise.all(changes);
  });

  it('are refused while the run waits, and possible again when it continues', async () => {
    const { host } = hostWith(0);
    const token = new RunTokens().issue(host);
    token.detach();
    await expect(change({ token, clock }, write('a.md'))).rejects.toMatchObject({ status: 409, error: 'run_waiting' });
    token.attach(host);
    expect(await change({ token, clock }, write('a.md'))).toEqual({ step: 'tool-1' });
  });

  it('are refused after the token was revoked, which cannot be undone', async () => {
    const { host } = hostWith(0);
    const tokens = new RunTokens();
    tokens.open('http://127.0.0.1:1/v2/mcp');
    const token = tokens.issue(host);
    const secret = token.endpoint?.authorization?.replace('Bearer ', '') as string;
    expect(tokens.find(secretHash(secret))).toBe(token);
    token.revoke();
    expect(tokens.find(secretHash(secret))).toBeUndefined();
    token.attach(host);
    await expect(change({ token, clock }, write('a.md'))).rejects.toMatchObject({ status: 409, error: 'run_ended' });
    expect(token.signal.aborted).toBe(true);
  });

  it.each([
    ['was lost', async () => Promise.reject(new RunLostError()), 'run_ended'],
    ['has failed otherwise', async () => Promise.reject(new Error('The disk is full.')), undefined],
  ])('report that the run %s', async (_, perform, error) => {
    const { host } = hostWith(0, perform);
    const token = new RunTokens().issue(host);
    const refused = change({ token, clock }, write('a.md'));
    if (error === undefined) await expect(refused).rejects.toThrow('The disk is full.');
    else await expect(refused).rejects.toMatchObject({ status: 409, error });
  });

  it('report that the run was left in the meantime, whatever the reason of the failure', async () => {
    const { host, abort } = hostWith(0);
    const token = new RunTokens().issue(host);
    const failing = (leave: () => void) =>
      read({ token, clock }, async () => {
        leave();
        throw new Error('The execution has ended.');
      });
    await expect(failing(() => token.detach())).rejects.toMatchObject({ error: 'run_waiting' });
    token.attach(host);
    await expect(failing(() => abort.abort())).rejects.toMatchObject({ error: 'run_ended' });
  });
});
