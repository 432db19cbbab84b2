/** Rights without a request: what is refused, and what the refusal says. */
import { describe, expect, it } from 'vitest';
import type { OperationId } from '../../../src/interface/operations.ts';
import { operationAccess, type Scope } from '../../../src/interface/scopes.ts';
import { isPermitted, requirePermission, requireRunEvents, scopeSet } from '../../../src/service/http/access.ts';
import { authenticate } from '../../../src/service/http/authenticate.ts';
import { RunTokens } from '../../../src/service/runtimes/run-tokens.ts';
import { secretHash } from '../../../src/service/secret-hash.ts';
import type { Tokens } from '../../../src/service/store/access/token-cache.ts';

const ids = Object.keys(operationAccess) as OperationId[];
const limitedAccess = (...scopes: Scope[]) => ({ scopes: new Set(scopes), isOwner: false });
const refusal = (act: () => void) => {
  try {
    act();
    return undefined;
  } catch (error) {
    return error;
  }
};

describe('a credential', () => {
  it('of the owner may do everything, and one with full access everything but what only the owner may do', () => {
    for (const id of ids) {
      expect(isPermitted({ scopes: null, isOwner: true }, id), id).toBe(true);
      expect(isPermitted({ scopes: null, isOwner: false }, id), id).toBe(operationAccess[id] !== 'owner');
    }
  });

  it('with no scopes may do what any credential may, and each refusal says that it has none', () => {
    for (const id of ids) {
      const error = refusal(() => requirePermission(limitedAccess(), id));
      if (operationAccess[id] === 'any') expect(error, id).toBeUndefined();
      else if (operationAccess[id] === 'owner') expect(error, id).toMatchObject({ status: 403, error: 'owner_only' });
      else
        expect(error, id).toMatchObject({ status: 403, error: 'insufficient_scope', message: expect.stringContaining('it has no scopes') });
      // Only a scope that exists can be requested.
      if (operationAccess[id] === 'full')
        expect(error, id).toMatchObject({ scope: undefined, message: expect.stringContaining('This needs a credential with full access') });
    }
  });

  it('that is limited learns which scopes it has', () => {
    const error = refusal(() => requirePermission(limitedAccess('runs:read', 'files:read'), 'startRun'));
    expect(error).toMatchObject({ scope: operationAccess.startRun, message: expect.stringContaining('it has runs:read files:read.') });
  });

  it.each([
    [null, true],
    [new Set<Scope>(['runs:read']), true],
    [new Set<Scope>(['webhooks:manage']), true],
    [new Set<Scope>(['files:read']), false],
    [new Set<Scope>(), false],
  ])('with the scopes %j may receive the events of runs: %j', (scopes, isAllowed) => {
    const error = refusal(() => requireRunEvents({ scopes, isOwner: false }));
    if (isAllowed) expect(error).toBeUndefined();
    else expect(error).toMatchObject({ status: 403, error: 'insufficient_scope', scope: 'runs:read' });
  });

  it('has the scopes of its column that still exist', () => {
    expect([scopeSet(null), [...(scopeSet('runs:read gone:write') ?? [])], [...(scopeSet('') ?? [])]]).toEqual([null, ['runs:read'], []]);
  });
});

describe('a token', () => {
  const record = { hash: secretHash('right'), credentialId: 'c', teamId: 't', kind: 'local', scopes: null, expiresAt: null };
  const tokens = (found: unknown) => ({ tokens: { find: async () => found } as unknown as Tokens, runTokens: new RunTokens() });

  it('is the caller behind its record', async () => {
    expect(await authenticate(tokens(record), 'bearer  right ', 0)).toEqual({
      ...{ credentialId: 'c', teamId: 't', kind: 'local', isOwner: true, scopes: null },
    });
  });

  it.each([
    ['api_key', null, false],
    ['local', 'runs:read', false],
  ])('of the kind %s with the scopes %s belongs to the owner: %j', async (kind, scopes, isOwner) => {
    expect((await authenticate(tokens({ ...record, kind, scopes }), 'Bearer right', 0)).isOwner).toBe(isOwner);
  });

  it('is refused if nothing, or the record of another token, is found', async () => {
    for (const found of [undefined, { ...record, hash: secretHash('other') }])
      await expect(authenticate(tokens(found), 'Bearer right', 0)).rejects.toMatchObject({ status: 401, error: 'invalid_token' });
  });
});
