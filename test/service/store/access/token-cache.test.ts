/** The cache of tokens: it saves looking them up, and never outlives a change of credentials. */
import { describe, expect, it, vi } from 'vitest';
import { insertCredential, insertToken, revokeCredential } from '../../../../src/service/store/access/credentials.ts';
import { insertTeam } from '../../../../src/service/store/access/teams.ts';
import { SharedTokenCache, sharedTokenLife, TokenCache } from '../../../../src/service/store/access/token-cache.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';

const created_at = '';

/** A cache of a store that has the tokens one, two, and three, and how often the store was queried. */
async function withTokens(expires_at: number | null = null, maxTokens?: number) {
  const store = await openDatabase(await temporaryDirectory());
  afterTest(() => store.destroy());
  await insertTeam(store, { id: 't', name: 'T', created_at });
  await insertCredential(store, { id: 'c', team_id: 't', kind: 'api_key', name: 'c', created_at, revoked_at: null });
  for (const hash of ['one', 'two', 'three']) await insertToken(store, { hash, credential_id: 'c', created_at, expires_at });
  const queries = vi.spyOn(store, 'executeQuery');
  const tokens = new TokenCache(store, maxTokens);
  const find = async (hash: string, now = 0) => (await tokens.find(hash, now))?.credentialId;
  const revoke = () => revokeCredential(store, 'api_key', 'c', created_at);
  return { store, find, revoke, queries };
}

describe('a token', () => {
  it('is looked up once', async () => {
    const { find, queries } = await withTokens();
    expect([await find('one'), await find('one'), await find('two'), await find('one')]).toEqual(['c', 'c', 'c', 'c']);
    expect(queries).toHaveBeenCalledTimes(2);
  });

  it('is looked up each time as long as it does not exist', async () => {
    const { find, queries } = await withTokens();
    expect([await find('four'), await find('four')]).toEqual([undefined, undefined]);
    expect(queries).toHaveBeenCalledTimes(2);
  });

  it('is no longer valid when its credential is revoked, even if it was used right before', async () => {
    const { find, revoke } = await withTokens();
    expect(await find('one')).toBe('c');
    await revoke();
    expect([await find('one'), await find('one')]).toEqual([undefined, undefined]);
  });

  it('is no longer valid when its credential is revoked while it is looked up', async () => {
    const { store, find, revoke } = await withTokens();
    const query = store.executeQuery.bind(store);
    vi.spyOn(store, 'executeQuery').mockImplementationOnce(async (...values) => {
      const row = await query(...values);
      await revoke();
      // Another request notices the change first.
      expect(await find('two')).toBeUndefined();
      return row as never;
    });
    expect(await find('one')).toBe('c');
    expect(await find('one')).toBeUndefined();
  });

  it('is valid until it expires', async () => {
    const { find } = await withTokens(1_000);
    expect([await find('one', 999), await find('one', 999), await find('one', 1_000), await find('one', 1_001)]).toEqual([
      'c',
      'c',
      undefined,
      undefined,
    ]);
  });

  it('is looked up again when more tokens are in use than the cache holds', async () => {
    const { find, queries } = await withTokens(null, 2);
    for (const hash of ['one', 'two', 'one', 'three']) expect(await find(hash)).toBe('c');
    expect(queries).toHaveBeenCalledTimes(3);
    // What was used longest ago is no longer cached.
    for (const hash of ['three', 'one', 'two']) expect(await find(hash)).toBe('c');
    expect(queries).toHaveBeenCalledTimes(4);
  });

  it('is counted once if several requests look it up at the same time', async () => {
    const { find, queries } = await withTokens(null, 2);
    await Promise.all([find('one'), find('one')]);
    await find('two');
    queries.mockClear();
    for (const hash of ['one', 'two']) expect(await find(hash)).toBe('c');
    expect(queries).not.toHaveBeenCalled();
  });
});

describe('a token of a database that other processes change', () => {
  it('is looked up again after less than a second, even if no change was reported', async () => {
    const { store, revoke } = await withTokens();
    let time = 0;
    const tokens = new SharedTokenCache(store, () => time);
    const find = async () => (await tokens.find('one', 0))?.credentialId;
    expect(await find()).toBe('c');
    vi.spyOn(store.changes, 'versionOf').mockReturnValue(store.changes.versionOf(['tokens', 'credentials']));
    await revoke();
    time = sharedTokenLife - 1;
    expect(await find()).toBe('c');
    time = sharedTokenLife;
    expect(await find()).toBeUndefined();
    expect(sharedTokenLife).toBeLessThan(1_000);
  });
});
