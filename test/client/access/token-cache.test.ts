/** Tokens that several processes share, over real files: each credential here has its own cache on the same folder. */
import { closeSync, openSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { clientCredential } from '../../../src/client/access/oauth.ts';
import { dropTokens, type Token, TokenCache } from '../../../src/client/access/token-cache.ts';
import { json, noAnswer, type RawServer } from '../../faults/raw-server.ts';
import { temporaryFolder } from '../../support/temporary.ts';
import { failureOf, scriptedServer, WaitClock } from '../harness.ts';

const start = Date.parse('2026-07-18T09:00:00.000Z');
const owner = {
  origin: 'https://agents.example',
  tokenUrl: 'https://login.example/token',
  clientId: 'my-client',
  clientSecret: 'my-secret',
  scope: 'runs:read',
};
const token = (overrides: Partial<Token> = {}): Token => ({
  value: 't1',
  obtainedAt: start,
  staleAt: start + 3_240_000,
  expiresAt: start + 3_600_000,
  ...overrides,
});

let folder: string;
let tokens: string;
let cache: TokenCache;
beforeEach(async () => {
  folder = await temporaryFolder();
  tokens = path.join(folder, 'tokens');
  await mkdir(tokens, { mode: 0o700 });
  cache = new TokenCache(folder, owner);
});
const fileOf = async (): Promise<string> => path.join(tokens, (await readdir(tokens))[0] ?? '');

describe('a stored token', () => {
  it('is read again, and its file is private and does not contain the secret', async () => {
    cache.write(token({ scope: 'runs:read', replacement: true }));
    const nextDescriptor = (): number => {
      const descriptor = openSync(folder, 'r');
      closeSync(descriptor);
      return descriptor;
    };
    const before = nextDescriptor();
    for (let count = 0; count < 50; count += 1) cache.read(start);
    // Nothing stays open.
    expect(nextDescriptor() - before).toBeLessThan(50);
    expect(cache.read(start)).toEqual(token({ scope: 'runs:read', replacement: true }));
    expect(await readdir(tokens)).toHaveLength(1);
    expect((await stat(await fileOf())).mode & 0o777).toBe(0o600);
    expect((await fileOf()) + (await readFile(await fileOf(), 'utf8'))).not.toContain('my-secret');
  });

  it.each([
    ['origin', { origin: 'https://elsewhere.example' }],
    ['token URL', { tokenUrl: 'https://login.example/other' }],
    ['client', { clientId: 'other' }],
    ['secret', { clientSecret: 'other' }],
    ['scope', { scope: 'runs:write' }],
    ['lack of a scope', { scope: undefined }],
  ])('is not used for another %s', (_, otherOwner) => {
    cache.write(token());
    expect(new TokenCache(folder, { ...owner, ...otherOwner }).read(start)).toBeUndefined();
  });

  it('is used until it expires, unless it is from the future', () => {
    cache.write(token());
    expect(cache.read(start + 3_599_999)).toEqual(token());
    expect(cache.read(start + 3_600_000)).toBeUndefined();
    expect(cache.read(start - 60_000)).toEqual(token());
    expect(cache.read(start - 60_001)).toBeUndefined();
  });

  it.each<[string, unknown]>([
    ['null', null],
    ['no token', { token: undefined }],
    ['another origin', { origin: 'https://elsewhere.example' }],
    ['another client', { client_id: 'other' }],
    ['no client', { client_id: undefined }],
    ['an empty token', { token: token({ value: '' }) }],
    ['a token that cannot be a header', { token: token({ value: 'a\r\nx: y' }) }],
    ['a token that is not text', { token: { ...token(), value: 5 } }],
    ['a time that is not a number', { token: { ...token(), staleAt: 'soon' } }],
    ['a scope that is not text', { token: { ...token(), scope: 5 } }],
  ])('is ignored if its file contains %s', async (_, change) => {
    cache.write(token());
    const file = await fileOf();
    const entry = JSON.parse(await readFile(file, 'utf8')) as object;
    await writeFile(file, JSON.stringify(change === null ? null : { ...entry, ...(change as object) }));
    expect(cache.read(start)).toBeUndefined();
    cache.write(token());
    expect(cache.read(start)).toEqual(token());
  });

  it('is ignored if others can read or write its file, or if it is a link', async () => {
    cache.write(token());
    const file = await fileOf();
    for (const mode of [0o640, 0o604, 0o602]) {
      await chmod(file, mode);
      expect(cache.read(start)).toBeUndefined();
    }
    await chmod(file, 0o600);
    expect(cache.read(start)).toEqual(token());
    await rename(file, path.join(folder, 'elsewhere'));
    await symlink(path.join(folder, 'elsewhere'), file);
    expect(cache.read(start)).toBeUndefined();
  });

  it('replaces tokens that have expired, of all clients', async () => {
    const otherCache = new TokenCache(folder, { ...owner, clientId: 'other' });
    otherCache.write(token({ value: 'old', expiresAt: start + 1_000 }));
    cache.write(token({ obtainedAt: start + 999 }));
    expect(await readdir(tokens)).toHaveLength(2);
    cache.write(token({ obtainedAt: start + 1_000 }));
    expect(await readdir(tokens)).toHaveLength(1);
    expect(cache.read(start + 1_000)?.value).toBe('t1');
  });

  it('cannot be stored without its folder, which is not an error and leaves nothing behind', async () => {
    await rm(tokens, { recursive: true });
    cache.write(token());
    expect(cache.read(start)).toBeUndefined();
    expect(await readdir(folder)).toEqual([]);
  });

  it('that cannot be replaced leaves nothing behind', async () => {
    cache.write(token());
    const file = await fileOf();
    await rm(file);
    await mkdir(path.join(file, 'in the way'), { recursive: true });
    cache.write(token());
    expect(await readdir(tokens)).toEqual([path.basename(file)]);
  });

  it('is removed together with all others of its service', async () => {
    cache.write(token());
    const abandonedFile = await readFile(await fileOf());
    new TokenCache(folder, { ...owner, clientId: 'second' }).write(token());
    const otherCache = new TokenCache(folder, { ...owner, origin: 'https://elsewhere.example' });
    otherCache.write(token());
    await writeFile(path.join(tokens, 'notes.txt'), 'mine', { mode: 0o600 });
    // Left behind by a process that was killed.
    await writeFile(path.join(tokens, 'x.tmp'), abandonedFile, { mode: 0o600 });
    expect(dropTokens(folder, owner.origin)).toBe(3);
    expect(cache.read(start)).toBeUndefined();
    expect(otherCache.read(start)).toEqual(token());
    expect(dropTokens(folder, owner.origin)).toBe(0);
    expect(await readdir(tokens)).toContain('notes.txt');
    expect(dropTokens(path.join(folder, 'nowhere'), owner.origin)).toBe(0);
  });
});

describe('the lock', () => {
  it('is held by one at a time, in a private folder', async () => {
    await chmod(tokens, 0o755);
    const unlock = await cache.lock(() => false, undefined);
    expect((await stat(tokens)).mode & 0o777).toBe(0o700);
    const stop = AbortSignal.abort(new Error('enough'));
    await expect(new TokenCache(folder, owner).lock(() => false, stop)).rejects.toThrow('enough');
    unlock?.();
    expect(await readdir(tokens)).toEqual([]);
    const next = await new TokenCache(folder, owner).lock(() => false, undefined);
    expect(next).toBeDefined();
    next?.();
  });

  it('creates its folder', async () => {
    const unlock = await new TokenCache(path.join(folder, 'new', 'cache'), owner).lock(() => false, undefined);
    expect(unlock).toBeDefined();
    expect((await stat(path.join(folder, 'new', 'cache', 'tokens'))).mode & 0o777).toBe(0o700);
    unlock?.();
  });

  it('is not taken when it is no longer needed, or cannot be created', async () => {
    expect(await cache.lock(() => true, undefined)).toBeUndefined();
    await rm(tokens, { recursive: true });
    await mkdir(path.join(folder, 'elsewhere'));
    await symlink(path.join(folder, 'elsewhere'), tokens);
    expect(await cache.lock(() => false, undefined)).toBeUndefined();
    expect(await readdir(path.join(folder, 'elsewhere'))).toEqual([]);
  });
});

describe('processes with the same client', () => {
  const grantAnswer = (value: string, lifetime = 3_600) => json(200, { access_token: value, token_type: 'Bearer', expires_in: lifetime });
  const processAt = (server: RawServer, clock = new WaitClock()) => {
    const tokenUrl = `${server.url}/token`;
    const credential = clientCredential(
      { client_id: 'my-client', client_secret: 'my-secret', token_url: tokenUrl },
      {
        clock,
        random: () => 0.5,
        cache: new TokenCache(folder, { ...owner, tokenUrl }),
        onEvent: (event) => event.type === 'retry' && clock.announce(),
      },
    );
    return { clock, credential };
  };

  it('fetch one token for all, also when they start at the same time', async () => {
    const server = (await scriptedServer()).always(grantAnswer('t1'));
    const values = await Promise.all([1, 2, 3, 4].map(() => processAt(server).credential.authorization()));
    expect(new Set(values)).toEqual(new Set(['Bearer t1']));
    expect(await processAt(server).credential.authorization()).toBe('Bearer t1');
    expect(server.requests).toHaveLength(1);
    expect(await readdir(tokens)).toHaveLength(1);
  });

  it('release the lock when the fetch fails', async () => {
    const server = await scriptedServer(json(400, { error: 'invalid_client' }), grantAnswer('t1'));
    expect(await failureOf(processAt(server).credential.authorization())).toMatchObject({ exit: 4 });
    expect(await readdir(tokens)).toEqual([]);
    expect(await processAt(server).credential.authorization()).toBe('Bearer t1');
  });

  it('store the scope that was granted', async () => {
    const server = await scriptedServer(
      json(200, { access_token: 't1', token_type: 'Bearer', expires_in: 3_600, scope: 'runs:read' }),
      grantAnswer('t2'),
    );
    await processAt(server).credential.authorization();
    const readStored = async (): Promise<object> => (JSON.parse(await readFile(await fileOf(), 'utf8')) as { token: object }).token;
    expect(await readStored()).toEqual(token({ scope: 'runs:read', replacement: false }));
    await rm(await fileOf());
    await processAt(server).credential.authorization();
    expect(await readStored()).toEqual(token({ value: 't2', replacement: false }));
  });

  it.each([20, 30])('do not store a token that is used only once because it expires in %i s', async (seconds) => {
    const server = await scriptedServer(grantAnswer('t1', seconds), grantAnswer('t2', seconds));
    expect(await processAt(server).credential.authorization()).toBe('Bearer t1');
    expect(await readdir(tokens)).toEqual([]);
    expect(await processAt(server).credential.authorization()).toBe('Bearer t2');
  });

  it('use the replacement of a rejected token that one of them has fetched', async () => {
    const server = await scriptedServer(grantAnswer('t1'), grantAnswer('t2'), grantAnswer('t3'));
    const [firstProcess, otherProcess] = [processAt(server), processAt(server)];
    for (const { credential } of [firstProcess, otherProcess]) expect(await credential.authorization()).toBe('Bearer t1');
    expect(await firstProcess.credential.refresh?.('Bearer t1')).toBe(true);
    expect(await otherProcess.credential.refresh?.('Bearer t1')).toBe(true);
    expect(await otherProcess.credential.authorization()).toBe('Bearer t2');
    expect(server.requests).toHaveLength(2);
    // A replacement that is rejected, too, is not replaced again for a minute, by any of them.
    const third = processAt(server);
    await third.credential.authorization();
    for (const { credential } of [firstProcess, otherProcess, third]) expect(await credential.refresh?.('Bearer t2')).toBe(false);
    otherProcess.clock.advance(59_999);
    expect(await otherProcess.credential.refresh?.('Bearer t2')).toBe(false);
    expect(server.requests).toHaveLength(2);
    otherProcess.clock.advance(1);
    expect(await otherProcess.credential.refresh?.('Bearer t2')).toBe(true);
    expect(await otherProcess.credential.authorization()).toBe('Bearer t3');
  });

  it('never use a rejected token again, even if the endpoint is unavailable', async () => {
    const server = await scriptedServer(grantAnswer('t1'));
    server.always(json(503, {}));
    const { credential } = processAt(server);
    await credential.authorization();
    expect(await failureOf(credential.refresh?.('Bearer t1') as Promise<boolean>)).toMatchObject({ exit: 8 });
    expect(await failureOf(credential.authorization())).toMatchObject({ exit: 8 });
  });

  it('use the token of another one while the endpoint is unavailable, until it expires', async () => {
    const server = await scriptedServer(grantAnswer('t1'));
    server.always(json(503, {}));
    await processAt(server).credential.authorization();
    const laterProcess = processAt(server);
    laterProcess.clock.advance(3_240_000);
    expect(await laterProcess.credential.authorization()).toBe('Bearer t1');
    expect(server.requests.length).toBeGreaterThan(1);
    const expiredProcess = processAt(server);
    expiredProcess.clock.advance(3_600_000);
    expect(await failureOf(expiredProcess.credential.authorization())).toMatchObject({ exit: 8 });
  });

  it('do not use an old token when the client is refused', async () => {
    const server = await scriptedServer(grantAnswer('t1'), json(401, { error: 'invalid_client' }));
    const { credential, clock } = processAt(server);
    await credential.authorization();
    clock.advance(3_240_000);
    expect(await failureOf(credential.authorization())).toMatchObject({ exit: 4 });
  });

  it('protect a token that was read from the disk', async () => {
    const server = await scriptedServer(grantAnswer('t1'));
    await processAt(server).credential.authorization();
    const secrets: string[] = [];
    const tokenUrl = `${server.url}/token`;
    const credential = clientCredential(
      { client_id: 'my-client', client_secret: 'my-secret', token_url: tokenUrl },
      { clock: new WaitClock(), cache: new TokenCache(folder, { ...owner, tokenUrl }), protect: (secret) => secrets.push(secret) },
    );
    expect(await credential.authorization()).toBe('Bearer t1');
    expect(secrets).toContain('t1');
  });

  it('end a fetch when the command is interrupted, and release the lock', async () => {
    const server = await scriptedServer(noAnswer('stall'));
    const controller = new AbortController();
    const events: unknown[] = [];
    const credential = clientCredential(
      { client_id: 'my-client', client_secret: 'my-secret', token_url: `${server.url}/token` },
      { cache, signal: controller.signal, clock: new WaitClock(), onEvent: (event) => events.push(event) },
    );
    const failure = failureOf(credential.authorization());
    await server.until(({ requests }) => requests.length === 1);
    controller.abort(new Error('enough'));
    expect(await failure).toMatchObject({ message: 'enough' });
    expect(await readdir(tokens)).toEqual([]);
    expect(events).toEqual([]);
  });
});
