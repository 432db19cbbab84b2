/** When a failure means that the service does not offer an operation. */
import { expect, it } from 'vitest';
import { ServiceAnswerError, toNotOfferedError } from '../../src/client/errors.ts';
import type { OperationId } from '../../src/interface/operations.ts';

const failure = (status: number, error = 'not_found') => new ServiceAnswerError(status, { error }, {});

it.each<[OperationId, number, string | undefined, string | undefined]>([
  // The run might be missing instead.
  ['streamRunEvents', 404, undefined, 'not_found'],
  ['streamRunEvents', 405, undefined, 'not_offered'],
  ['streamRunEvents', 501, undefined, 'not_offered'],
  // Nothing can be missing but the operation.
  ['streamTeamEvents', 404, undefined, 'not_offered'],
  // A service that knows the operation.
  ['streamRunEvents', 404, 'run_not_found', undefined],
  ['streamRunEvents', 400, undefined, undefined],
  // Every service offers it.
  ['getRun', 404, undefined, undefined],
])('%s with %i %s', (id, status, error, code) => {
  const original = failure(status, error);
  const result = toNotOfferedError(id, original);
  if (code === undefined) expect(result).toBe(original);
  else expect(result).toMatchObject({ code, exit: 3 });
});
