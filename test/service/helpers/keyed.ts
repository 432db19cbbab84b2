/** Every operation of the contract that can have an idempotency key, and requests that can be repeated. */
import { type OperationId, operation } from '../../../src/interface/operations.ts';
import { usesPostgres } from '../../support/postgres.ts';
import { type OwnedIds, pathOf, plainOperations, requestFor } from './everything.ts';
import type { Answer, Api } from './service.ts';

export const keyed: readonly OperationId[] = plainOperations.filter((id) => operation(id).idempotent);
const first: OperationId[] = ['respondToHumanRequest', 'unlinkCaseLabels'];
const removes = /^(delete|clear|bulkDelete|revoke|detach|replaceEval)/;
const otherFields = keyed.filter((id) => !first.includes(id) && id !== 'deleteCase');
/** In an order in which nearly all of them have something to do: what removes things comes last. */
export const keyedInOrder: readonly OperationId[] = [
  ...first,
  ...otherFields.filter((id) => !removes.test(id)),
  'deleteCase',
  ...otherFields.filter((id) => removes.test(id)).reverse(),
];

/** The operations that find nothing to do with what `filled` creates, and the error that each responds with. */
export const refusedInOrder: Partial<Record<OperationId, string>> = {
  answerArtifactQuestion: 'question_not_pending',
  answerBuilderRun: 'builder_run_not_waiting',
  authorizeMcpOAuth: 'mcp_server_unreachable',
  createAgentCaseTrigger: 'agent_has_case_trigger',
  deleteBackupHold: 'backup_hold_not_found',
  declineRevision: 'builder_run_not_waiting_for_approve',
  discardRevision: 'builder_run_not_active',
  generateRevision: 'builder_run_active',
  promoteRevision: 'builder_run_active',
  startNativeOAuth: 'oauth_provider_not_found',
  updateBackupHold: 'backup_hold_not_found',
  ...(usesPostgres ? { createBackupHold: 'backup_not_supported' } : {}),
};

/** A request that can be sent again as the very same bytes. */
export async function sendable(
  api: Api,
  id: OperationId,
  of: OwnedIds,
): Promise<(key: string | undefined, other?: Other) => Promise<Answer>> {
  const { body, query } = requestFor(id, of);
  const form = body instanceof FormData ? new Response(body) : undefined;
  const type = form?.headers.get('content-type') ?? (Buffer.isBuffer(body) ? 'application/x-tar' : 'application/json');
  const plainBody = Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const bytes = form === undefined ? plainBody : Buffer.from(await form.arrayBuffer());
  return (key, { more = '', search = {}, ids = {}, contentType = type } = {}) => {
    const parameters = new URLSearchParams({ ...(query as Record<string, string>), ...search }).toString();
    return api.send(operation(id).method, `${pathOf(id, { ...of, ...ids })}${parameters === '' ? '' : `?${parameters}`}`, {
      headers: {
        ...(key === undefined ? {} : { 'idempotency-key': key }),
        ...(bytes === undefined ? {} : { 'content-type': contentType }),
      },
      ...(bytes === undefined && more === '' ? {} : { body: Buffer.concat([Buffer.from(bytes ?? ''), Buffer.from(more)]) }),
    });
  };
}

/** How a request differs from the one before. */
export interface Other {
  more?: string;
  search?: Record<string, string>;
  ids?: Record<string, string>;
  contentType?: string;
}

/** Operations that have moved: they redirect. */
export const retired: readonly OperationId[] = ['bulkDelegateCases', 'bulkRetryCases'];
