/** Where to begin with the messages of a run: at the first one of a window, found with few requests. */
import { describe, expect, it } from 'vitest';
import type { Client } from '../../src/client/client.ts';
import { runStart } from '../../src/watch/resume/run-position.ts';
import { isStillFinished, positionOf } from '../../src/watch/resume/start-position.ts';

const start = Date.parse('2026-07-18T09:00:00.000Z');

/** A service with messages that are a minute apart. `lost` messages were removed after the first request. */
function serviceWith(total: number, lost = 0) {
  const offsets: number[] = [];
  const call = async (_: string, { query }: { query: { limit: number; offset: number } }) => {
    const count = offsets.length === 0 ? total : total - lost;
    offsets.push(query.offset);
    const messages = Array.from({ length: count }, (_value, index) => ({
      id: `m${index}`,
      timestamp: new Date(start + index * 60_000).toISOString(),
    }));
    return { messages: messages.slice(query.offset, query.offset + query.limit), total: count };
  };
  return { client: { call } as unknown as Pick<Client, 'call'>, offsets };
}

const following = (index: number) => ({ ...runStart, offset: index + 1, lastMessageId: `m${index}` });

describe('the position of a window', () => {
  it('is the start without a window, with no request', async () => {
    const { client, offsets } = serviceWith(10);
    expect([await positionOf(client, 'r', {}), offsets]).toEqual([runStart, []]);
  });

  it.each([
    [3, following(6)],
    [1, following(8)],
    [0, following(9)],
    [10, runStart],
    [11, runStart],
  ])('before the last %i of ten messages', async (tail, expected) => {
    expect(await positionOf(serviceWith(10).client, 'r', { tail })).toEqual(expected);
  });

  it.each([
    [start - 1, runStart],
    [start, runStart],
    [start + 1, following(0)],
    [start + 4 * 60_000, following(3)],
    [start + 9 * 60_000, following(8)],
    [start + 9 * 60_000 + 1, following(9)],
  ])('before the first message from a time on (%#)', async (since, expected) => {
    expect(await positionOf(serviceWith(10).client, 'r', { since })).toEqual(expected);
  });

  it('is found among a thousand messages with about ten requests', async () => {
    const { client, offsets } = serviceWith(1_000);
    expect(await positionOf(client, 'r', { since: start + 777 * 60_000 })).toEqual(following(776));
    expect(offsets.length).toBeLessThanOrEqual(12);
  });

  it('is inside both windows', async () => {
    const since = start + 8 * 60_000;
    expect(await positionOf(serviceWith(10).client, 'r', { tail: 5, since })).toEqual(following(7));
    expect(await positionOf(serviceWith(10).client, 'r', { tail: 1, since })).toEqual(following(8));
  });

  it('is the start if the messages before it have disappeared', async () => {
    expect(await positionOf(serviceWith(10, 8).client, 'r', { tail: 3 })).toEqual(runStart);
    expect(await positionOf(serviceWith(0).client, 'r', { tail: 3 })).toEqual(runStart);
  });
});

describe('a run that was watched to its end', () => {
  const position = { ...following(9), status: 'completed' as const, isFinished: true };

  it.each([
    ['is still finished without further messages', position, 10, 'completed', true],
    ['is not with another message', position, 11, 'completed', false],
    ['is not with another status', position, 10, 'running', false],
    ['is not if its end was not reported', { ...position, isFinished: false }, 10, 'completed', false],
  ] as const)('%s', async (_, where, total, status, expected) => {
    expect(await isStillFinished(serviceWith(total).client, 'r', where, status)).toBe(expected);
  });
});
