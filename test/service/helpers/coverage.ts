/** Proof that the tests of a file call every operation of the groups it says it covers. */
import { afterAll, expect, type RunnerTask } from 'vitest';
import { type OperationId, operationGroups } from '../../../src/interface/operations.ts';
import { type Api, startApi, type TestOptions } from './service.ts';

export type GroupName = keyof typeof operationGroups;

/**
 * Starts services for the tests of a file, which fails when one of the groups' operations was never called by them.
 * Every group of the contract is covered by a file (coverage.test.ts).
 */
export function covers(...groups: GroupName[]): (options?: TestOptions) => Promise<Api> {
  const expected = groups.flatMap((group) => Object.keys(operationGroups[group])) as OperationId[];
  const calledIds = new Set<OperationId>();
  // biome-ignore lint/correctness/noEmptyPattern: vitest accepts only a destructured context
  afterAll(({}, { tasks }) => expect(findUncalled(expected, calledIds, tasks)).toEqual([]));
  return async (options) => {
    const service = await startApi(options);
    const call = service.call.bind(service);
    service.call = (id, input) => {
      calledIds.add(id);
      return call(id, input);
    };
    return service;
  };
}

/**
 * The expected operations that were never called. None unless all tests passed: tests that failed, or were skipped because
 * others failed, call less, and their failure is the one to report.
 */
export function findUncalled(
  expected: readonly OperationId[],
  calledIds: ReadonlySet<OperationId>,
  tasks: readonly RunnerTask[],
): OperationId[] {
  return tasks.every(hasPassed) ? expected.filter((id) => !calledIds.has(id)) : [];
}

const hasPassed = (task: RunnerTask): boolean => ('tasks' in task ? task.tasks.every(hasPassed) : task.result?.state === 'pass');
