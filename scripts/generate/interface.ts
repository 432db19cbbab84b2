/** docs/interface.md: the operations of the interface, from the contract. */
import { interfaceVersion } from '../../src/base/version.ts';
import { type OperationId, operation, operationGroups } from '../../src/interface/operations.ts';
import { type Access, isScope, operationAccess, scopeMeanings } from '../../src/interface/scopes.ts';
import { code, generatedNote, page, table } from './markdown.ts';

export function interfacePage(): string {
  const groups = Object.entries(operationGroups).flatMap(([group, rows]) => [
    `## ${group[0]?.toUpperCase()}${group.slice(1)}`,
    table(['Operation', 'Request', 'Scope', 'Key', 'Summary'], (Object.keys(rows) as OperationId[]).map(operationRow)),
  ]);
  return page([
    generatedNote,
    '# Interface',
    `These are the operations that aops calls and the local service implements, in version ${code(interfaceVersion)}. The contract is \`src/interface\`; a service publishes it, with all schemas, as OpenAPI 3.1 at \`/v2/openapi.json\`. \`aops api --list\` prints this list, and \`aops api\` sends any of these requests.`,
    '"(extension)" marks operations that the local service adds to the interface; other services might not have them.',
    '"Key" marks the operations that change something. They accept an `Idempotency-Key`: the same request sent twice with the same key within 24 hours is carried out once.',
    `"Scope" is the scope that a credential needs if it is limited to scopes; an empty cell means that any credential is sufficient. _full_ means a credential that is not limited, and _owner_ the one in the data directory of the [local service](local-service.md).`,
    '## Scopes',
    table(
      ['Scope', 'Permits'],
      Object.entries(scopeMeanings).map(([scope, meaning]) => [code(scope), meaning]),
    ),
    ...groups,
  ]);
}

const accessWords = (access: Access): string => (access === 'any' ? '' : isScope(access) ? code(access) : `_${access}_`);

function operationRow(id: OperationId): string[] {
  const { method, path, idempotent, summary, extension } = operation(id);
  return [
    code(id),
    code(`${method} ${path}`),
    accessWords(operationAccess[id]),
    idempotent ? 'yes' : '',
    extension ? `${summary} (extension)` : summary,
  ];
}
