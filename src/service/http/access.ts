/** The permissions of credentials (src/interface/scopes.ts), and the refusals without permission (RFC 6750 section 3.1). */
import type { OperationId } from '../../interface/operations.ts';
import { isScope, operationAccess, type Scope } from '../../interface/scopes.ts';
import { ServiceError } from '../errors.ts';
import type { RunToken } from '../runtimes/run-tokens.ts';

/** The rights of a caller. */
export interface Rights {
  /** The scopes to which it is limited; null means full access to its team. */
  readonly scopes: ReadonlySet<Scope> | null;
  /** Whether it is the unlimited credential of the data directory: only that one manages teams and credentials. */
  readonly isOwner: boolean;
  /** The token of a run, whose agent can only use the tools of the run. */
  readonly run?: RunToken;
}

/** The operations that the agent of a run can use. `getMcp` only says that it is not supported, which clients of the protocol rely on. */
const operationsOfRuns: readonly OperationId[] = ['callMcp', 'getMcp'];

/** The scopes in a column; null means full access. */
export const scopeSet = (words: string | null): ReadonlySet<Scope> | null =>
  words === null ? null : new Set(words.split(' ').filter(isScope));

/** Whether the caller may use an operation. */
export function isPermitted({ scopes, isOwner, run }: Rights, id: OperationId): boolean {
  if (run !== undefined) return operationsOfRuns.includes(id);
  const access = operationAccess[id];
  if (access === 'owner') return isOwner;
  if (access === 'any' || scopes === null) return true;
  return isScope(access) && scopes.has(access);
}

/** Throws 403 `insufficient_scope`, which names the missing scope, 403 `owner_only`, or 403 `run_token_limited`. */
export function requirePermission(rights: Rights, id: OperationId): void {
  if (isPermitted(rights, id)) return;
  if (rights.run !== undefined)
    throw new ServiceError(403, 'run_token_limited', 'The agent of a run can only use the tools of its run, at POST /v2/mcp.', {
      headers: { 'WWW-Authenticate': 'Bearer error="insufficient_scope"' },
    });
  const access = operationAccess[id];
  if (access === 'owner') requireOwner(rights, 'Only the owner of this service may do that, with the token of its data directory.');
  if (!isScope(access)) {
    throw new ServiceError(
      403,
      'insufficient_scope',
      `This needs a credential with full access, which is not limited to scopes; ${limitOf(rights)}.`,
      { headers: { 'WWW-Authenticate': 'Bearer error="insufficient_scope"' } },
    );
  }
  throw scopeMissing(access, `This needs the scope ${access}, and the credential is limited: ${limitOf(rights)}.`);
}

/** Throws 403 `owner_only` with this message unless the caller owns the data directory. */
export function requireOwner({ isOwner }: Rights, message: string): void {
  if (!isOwner) throw new ServiceError(403, 'owner_only', message);
}

/**
 * For the webhook URL of a run: the run's events are sent there with its messages, so this requires permission to read them.
 * Throws 403 `insufficient_scope`.
 */
export function requireRunEvents(rights: Rights): void {
  const { scopes } = rights;
  if (scopes === null || scopes.has('runs:read') || scopes.has('webhooks:manage')) return;
  const reason = "webhook_url receives the run's messages, so it needs the scope runs:read or webhooks:manage";
  throw scopeMissing('runs:read', `${reason}, and the credential is limited: ${limitOf(rights)}.`);
}

const limitOf = ({ scopes }: Rights): string => (scopes?.size ? `it has ${[...scopes].join(' ')}` : 'it has no scopes');

const scopeMissing = (scope: Scope, message: string): ServiceError =>
  new ServiceError(403, 'insufficient_scope', message, {
    scope,
    headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
  });
