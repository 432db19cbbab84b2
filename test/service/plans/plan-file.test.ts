import { expect, it } from 'vitest';
import { parsePlan } from '../../../src/service/plans/plan-file.ts';
import { billingPeriod, defaultPlan } from '../../../src/service/store/access/plan.ts';

it('reads a plan, and takes what it leaves out from the default one', () => {
  expect(parsePlan('', 'plan.yaml')).toEqual(defaultPlan);
  const wholeDocument = {
    name: 'trial',
    limits: { agentRuns: 100, assignments: 0, clarityInterviews: 'unlimited' },
    maxConcurrentRuns: 2,
    runCountingMode: 'succeeded',
    features: ['runs'],
    products: [],
  };
  expect(parsePlan(JSON.stringify(wholeDocument), 'plan.json')).toEqual(wholeDocument);
  expect(parsePlan('name: small\nlimits: { agentRuns: 5 }', 'plan.yaml')).toEqual({
    ...defaultPlan,
    name: 'small',
    limits: { ...defaultPlan.limits, agentRuns: 5 },
  });
});

it.each([
  ['- a', 'The file must be a map'],
  ['limits: 5', 'limits must be a map'],
  ['name: ""', 'name must be text of 1 to 100 characters, not ""'],
  ['limits: { agentRuns: -1 }', 'limits.agentRuns must be a whole number, 0 or more, or "unlimited", not -1'],
  ['limits: { assignments: many }', 'limits.assignments must be a whole number, 0 or more, or "unlimited", not "many"'],
  ['limits: { agentRun: 1 }', '"limits.agentRun" is not a known field; did you mean "agentRuns"'],
  ['maxConcurrentRuns: 0', 'maxConcurrentRuns must be a whole number from 1 to 10000, not 0'],
  ['maxConcurrentRuns: unlimited', 'maxConcurrentRuns must be a whole number from 1 to 10000, not "unlimited"'],
  ['runCountingMode: some', 'runCountingMode must be started or succeeded, not "some"'],
  ['features: runs', 'features must be a list of words'],
  ['colour: blue', '"colour" is not a known field; use one of: name, limits'],
  ['a: [', 'Flow sequence'],
])('says what is wrong with %j', (text, problem) => {
  expect(() => parsePlan(text, 'plan.yaml')).toThrow(
    expect.objectContaining({ code: 'invalid_plan', exit: 2, message: expect.stringContaining(problem) }),
  );
});

it('reports all problems together', () => {
  expect(() => parsePlan('maxConcurrentRuns: 0\nproducts: 1', 'p.yaml')).toThrow(
    /^p\.yaml is not a valid plan: maxConcurrentRuns .*; products /,
  );
});

it('counts by calendar months in UTC', () => {
  expect(billingPeriod(Date.parse('2028-02-29T23:59:59.999Z'))).toEqual({
    start: '2028-02-01T00:00:00.000Z',
    end: '2028-03-01T00:00:00.000Z',
  });
  expect(billingPeriod(Date.parse('2026-12-01T00:00:00.000Z')).end).toBe('2027-01-01T00:00:00.000Z');
});
