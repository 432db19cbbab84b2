/** The keys of the changes of a command. */
import { describe, expect, it } from 'vitest';
import { ChangeKeys, checkedIdempotencyKey, newIdempotencyKey, replacementKey } from '../../src/client/idempotency.ts';

const targets = [
  ['POST', '/v2/runs'],
  ['POST', '/v2/runs'],
  ['POST', '/v2/agents'],
  ['DELETE', '/v2/agents'],
  ['POST', '/v2/runs'],
] as const;
const keysOf = (command: string): string[] => {
  const keys = new ChangeKeys(command);
  return targets.map(([method, path]) => keys.next(method, path));
};

describe('the keys of a command', () => {
  it('are its own for the first change, and one of their own for each other change', () => {
    const keys = keysOf('mine');
    expect(keys[0]).toBe('mine');
    expect(new Set(keys).size).toBe(targets.length);
    for (const key of keys.slice(1)) expect(key).toMatch(/^mine\.[0-9a-f]{24}$/);
  });

  it('are the same when the command is repeated, and do not depend on the order of changes to different targets', () => {
    expect(keysOf('mine')).toEqual(keysOf('mine'));
    const keys = new ChangeKeys('mine');
    keys.next('POST', '/v2/runs');
    const [remove, create] = [keys.next('DELETE', '/v2/agents'), keys.next('POST', '/v2/agents')];
    expect([create, remove]).toEqual(keysOf('mine').slice(2, 4));
  });

  it('differ between commands whose long keys start in the same way', () => {
    const longText = 'k'.repeat(254);
    const [firstKeys, otherKeys] = [keysOf(`${longText}a`), keysOf(`${longText}b`)];
    expect(new Set([...firstKeys, ...otherKeys]).size).toBe(2 * targets.length);
    for (const key of firstKeys) expect(checkedIdempotencyKey(key)).toBe(key);
    expect(firstKeys[1]).toMatch(/^k{200}\.[0-9a-f]{24}$/);
  });

  it('can be replaced once, by the same key each time', () => {
    expect(replacementKey('mine')).toBe(replacementKey('mine'));
    expect(new Set(['mine', 'other', replacementKey('mine'), replacementKey('other'), ...keysOf('mine')]).size).toBe(targets.length + 3);
  });
});

describe('a key', () => {
  it.each(['!', '~', 'k'.repeat(255), newIdempotencyKey()])('can be %j', (key) => {
    expect(checkedIdempotencyKey(key)).toBe(key);
  });

  it.each(['', ' ', 'a b', '\x7f', 'é', 'a\n', 'k'.repeat(256)])('cannot be %j, and is not echoed', (key) => {
    expect(() => checkedIdempotencyKey(key)).toThrow(
      expect.objectContaining({ exit: 2, message: 'The idempotency key must be 1 to 255 visible ASCII characters, without spaces.' }),
    );
  });

  it('of our own is new each time', () => {
    expect(newIdempotencyKey()).not.toBe(newIdempotencyKey());
  });
});
