/** What the policy decides after every kind of outcome, without a network. */
import { describe, expect, it } from 'vitest';
import { decide, leavesOpen, type Progress, type Situation } from '../../src/client/policy.ts';
import { RetryBudget } from '../../src/client/retry-budget.ts';
import type { Failure, Outcome } from '../../src/client/transport.ts';

const now = Date.parse('2026-07-18T09:00:00.000Z');

const answerOutcome = (status: number, body: unknown = {}, headers: Record<string, string> = {}): Outcome => ({
  kind: 'response',
  response: {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
  },
});
const running = (headers = {}) => answerOutcome(409, { error: 'idempotency_in_progress' }, headers);
const conflict = answerOutcome(409, { error: 'conflict', message: 'It has ended.' });
const storedOutcome = (status: number) => answerOutcome(status, { error: 'refused' }, { 'idempotency-replayed': 'true' });
const failureWith = (overrides: Partial<Failure> = {}): Failure => ({
  kind: 'failure',
  maybeSent: true,
  final: false,
  reason: 'the connection was reset',
  cause: undefined,
  ...overrides,
});

const keyed = { key: 'mine', commandKey: 'mine' };

/** The decision about a change, unless `progress` has no key; jitter is half of its maximum. */
function decisionAfter(outcome: Outcome, progress: Partial<Progress> = {}, situation: Partial<Situation> = {}) {
  return decide(outcome, {
    progress: { ...keyed, retries: 0, ambiguous: false, refreshed: false, rekeyed: false, noted: true, resent: false, ...progress },
    baseUrl: 'https://agents.example',
    details: { method: 'POST', path: '/v2/runs', idempotency_key: 'mine' },
    maxWaitMilliseconds: 60_000,
    now,
    canAfford: true,
    random: () => 0.5,
    ...situation,
  });
}

const readRequest = { key: undefined, commandKey: undefined };
const failDecision = (error: object) => ({ next: 'fail', error: expect.objectContaining(error) });
const unknownDecision = { next: 'fail', error: expect.objectContaining({ exit: 13, code: 'outcome_unknown' }) };

describe('an attempt leaves the outcome of a change', () => {
  it.each([
    ['open when the request may have been sent', failureWith(), true],
    ['certain when it was not sent', failureWith({ maybeSent: false }), false],
    ['open while a request with the same key is in progress', running(), true],
    ['certain after a conflict', conflict, false],
    ['open after 408', answerOutcome(408), true],
    ['certain after 407', answerOutcome(407), false],
    ['certain after 499', answerOutcome(499), false],
    ['open after 500', answerOutcome(500), true],
    ['certain after 501', answerOutcome(501), false],
    ['open after 502', answerOutcome(502), true],
    ['certain after a complete answer', answerOutcome(201, { run: {} }), false],
    ['open after an answer that was cut off', answerOutcome(201, '{"run"'), true],
    ['certain after a redirect without a body', answerOutcome(300, ''), false],
    ['certain after a refusal without a body', answerOutcome(404, ''), false],
  ])('%s', (_, outcome, expected) => {
    expect(leavesOpen(outcome)).toBe(expected);
  });
});

describe('a response', () => {
  it.each([
    ['200', answerOutcome(200, { run: {} })],
    ['299', answerOutcome(299, { run: {} })],
    ['204 without a body', answerOutcome(204, '')],
    ['204 without a type', answerOutcome(204, '', { 'content-type': '' })],
    ['an empty body with its length', answerOutcome(200, '', { 'content-length': '0' })],
    ['a problem document', answerOutcome(200, {}, { 'content-type': 'Application/Problem+JSON; charset=utf-8' })],
    ['a body that is not encoded', answerOutcome(200, {}, { 'content-encoding': ' Identity ' })],
  ])('%s is the result', (_, outcome) => {
    expect(decisionAfter(outcome)).toMatchObject({ next: 'done' });
  });

  it.each([300, 399])('%i is a redirect', (status) => {
    expect(decisionAfter(answerOutcome(status))).toEqual(failDecision({ code: 'redirected', exit: 1 }));
  });

  it.each([400, 407, 413, 422, 499, 501])('%i is final', (status) => {
    expect(decisionAfter(answerOutcome(status, { error: 'no' }))).toEqual(failDecision({ status, code: 'no' }));
  });

  it.each([408, 500, 502, 503])('%i is requested again', (status) => {
    expect(decisionAfter(answerOutcome(status))).toEqual({
      next: 'retry',
      waitMilliseconds: 250,
      reason: `the service answered ${status}`,
    });
    expect(decisionAfter(answerOutcome(status), { retries: 2 })).toMatchObject({ next: 'retry', waitMilliseconds: 1_000 });
  });

  it.each([
    ['a change', {}, ' to every attempt', 3, true],
    ['a change whose retries are used up by other requests', {}, ', and this command has no retries left because', 0, false],
    ['a change after one retry', {}, ' to every attempt, and this command has no retries left because', 1, false],
  ])('500 leaves the outcome of %s unknown when there are no more retries', (_, progress, text, retries, canAfford) => {
    const decision = decisionAfter(answerOutcome(500), { ...progress, retries }, { canAfford });
    expect(decision).toEqual(unknownDecision);
    expect(decision).toHaveProperty('error.message', expect.stringContaining(`the service answered 500${text}`));
  });

  it('500 after the last retry does not blame other requests', () => {
    const message = 'The outcome is unknown: the service answered 500 to every attempt.';
    expect(decisionAfter(answerOutcome(500), { retries: 3 }, { canAfford: false })).toHaveProperty('error.message', message);
    const onceDecision = decisionAfter(answerOutcome(500), {}, { canAfford: false, once: true });
    expect(onceDecision).toHaveProperty('error.message', 'The outcome is unknown: the service answered 500.');
  });

  it('500 is the error of a read when there are no more retries', () => {
    expect(decisionAfter(answerOutcome(500), { ...readRequest, retries: 3 })).toEqual(failDecision({ status: 500, exit: 8 }));
    expect(decisionAfter(answerOutcome(500), readRequest, { canAfford: false })).toEqual(failDecision({ status: 500, exit: 8 }));
    expect(decisionAfter(answerOutcome(500), readRequest, { once: true })).toEqual(failDecision({ status: 500, exit: 8 }));
  });

  it('is requested again no earlier than it says, and not at all if that is too late', () => {
    const laterOutcome = (seconds: number) => answerOutcome(503, {}, { 'retry-after': String(seconds) });
    expect(decisionAfter(laterOutcome(60))).toMatchObject({ next: 'retry', waitMilliseconds: 62_500 });
    expect(decisionAfter(laterOutcome(61), readRequest)).toEqual(failDecision({ status: 503 }));
    expect(decisionAfter(laterOutcome(61))).toEqual(
      failDecision({ exit: 13, message: 'The outcome is unknown: the service answered 503.' }),
    );
  });

  it('that the service cannot store the key is final, and not retried', () => {
    const fullOutcome = answerOutcome(503, { error: 'idempotency_store_full', message: 'Try again later.' });
    expect(decisionAfter(fullOutcome)).toEqual(failDecision({ code: 'idempotency_store_full', exit: 8 }));
    expect(decisionAfter(fullOutcome, { ambiguous: true })).toEqual(unknownDecision);
  });

  it('403 is final, and leaves an earlier attempt open', () => {
    expect(decisionAfter(answerOutcome(403, { error: 'forbidden' }))).toEqual(failDecision({ code: 'forbidden', exit: 5 }));
    expect(decisionAfter(answerOutcome(403), { ambiguous: true })).toEqual(unknownDecision);
    expect(decisionAfter(answerOutcome(403), { ...readRequest, ambiguous: true })).toEqual(failDecision({ exit: 5 }));
  });

  it('401 renews the credential once', () => {
    const hint = { rejectedHint: 'Sign in.' };
    expect(decisionAfter(answerOutcome(401), {}, hint)).toEqual({
      next: 'refresh',
      error: expect.objectContaining({ exit: 4, hint: 'Sign in.' }),
    });
    expect(decisionAfter(answerOutcome(401), { refreshed: true }, hint)).toEqual(failDecision({ exit: 4, hint: 'Sign in.' }));
    expect(decisionAfter(answerOutcome(403), {}, hint)).not.toHaveProperty('error.hint', 'Sign in.');
    expect(decisionAfter(answerOutcome(401), { ambiguous: true })).toEqual({ ...unknownDecision, next: 'refresh' });
    expect(decisionAfter(answerOutcome(401), { ambiguous: true, refreshed: true })).toEqual(unknownDecision);
  });
});

describe('a conflict', () => {
  it('is final unless an earlier attempt may be in progress', () => {
    expect(decisionAfter(conflict)).toEqual(failDecision({ exit: 6, message: 'It has ended.' }));
    const reason = 'an earlier attempt is still in progress';
    expect(decisionAfter(conflict, { ambiguous: true })).toEqual({ next: 'retry', waitMilliseconds: 250, reason });
    expect(decisionAfter(conflict, { ambiguous: true, retries: 3 })).toEqual(failDecision({ exit: 6, message: 'It has ended.' }));
  });

  it('with an attempt in progress is waited for, and finally leaves the outcome unknown', () => {
    expect(decisionAfter(running({ 'retry-after': '4' }))).toMatchObject({ next: 'retry', waitMilliseconds: 4_200 });
    expect(decisionAfter(running({ 'idempotency-replayed': 'true' }))).toMatchObject({ next: 'retry' });
    expect(decisionAfter(running(), { retries: 3 })).toEqual(unknownDecision);
    expect(decisionAfter(running({ 'retry-after': '61' }))).toEqual(unknownDecision);
  });
});

describe('a stored refusal', () => {
  it.each([401, 429])('%i gets a new key once', (status) => {
    const reason = `a stored ${status} was replayed`;
    expect(decisionAfter(storedOutcome(status))).toEqual({ next: 'rekey', waitMilliseconds: 250, reason });
    expect(decisionAfter(storedOutcome(status), { rekeyed: true })).toEqual(failDecision({ status }));
  });

  it.each([400, 403, 404, 409, 500])('%i is final, and names the key of the earlier command', (status) => {
    expect(decisionAfter(storedOutcome(status))).toEqual(
      failDecision({ status, hint: expect.stringContaining('when the key mine was first used') }),
    );
    expect(decisionAfter(storedOutcome(status), { ambiguous: true })).toEqual(failDecision({ status }));
  });

  it.each([{ retries: 1 }, { resent: true }])('of an attempt of the same command is its result (%j)', (progress) => {
    expect(decisionAfter(storedOutcome(404), progress)).not.toHaveProperty('error.hint', expect.stringContaining('was first used'));
  });
});

it('a request without a key cannot have a stored response', () => {
  const reason = 'the service answered 500';
  expect(decisionAfter(storedOutcome(500), readRequest)).toMatchObject({ next: 'retry', reason });
  expect(decisionAfter(storedOutcome(404), readRequest)).not.toHaveProperty('error.hint', expect.stringContaining('was first used'));
});

describe('a rate limit', () => {
  const limitedOutcome = (headers = {}) => answerOutcome(429, { error: 'rate_limited' }, headers);

  it.each([
    ['one second at first', {}, 0, 500],
    ['longer after each retry', {}, 2, 2_000],
    ['as long as it requests', { 'retry-after': '60' }, 0, 60_000],
    ['until its window ends', { 'ratelimit-reset': String(now / 1_000 + 7) }, 0, 7_000],
    ['as long as it requests, if the window ends earlier', { 'retry-after': '9', 'ratelimit-reset': String(now / 1_000 + 7) }, 0, 9_000],
    ["by the service's clock", { 'ratelimit-reset': String(now / 1_000 + 107), date: new Date(now + 100_000).toUTCString() }, 0, 7_000],
  ])('pauses all requests: %s', (_, headers, retries, waitMilliseconds) => {
    expect(decisionAfter(limitedOutcome(headers), { retries })).toEqual({ next: 'wait', waitMilliseconds });
  });

  it.each([
    [
      'requests a longer pause than the user allows',
      { 'retry-after': '61' },
      {},
      {},
      { code: 'rate_limited', message: expect.stringContaining('61 s') },
    ],
    ['comes after the last retry', {}, { retries: 3 }, {}, { status: 429 }],
    ['finds no retries left', {}, {}, { canAfford: false }, { status: 429 }],
  ])('fails when it %s', (_, headers, progress, situation, error) => {
    expect(decisionAfter(limitedOutcome(headers), progress, situation)).toEqual(failDecision({ exit: 7, ...error }));
    expect(decisionAfter(limitedOutcome(headers), { ...progress, ambiguous: true }, situation)).toEqual(unknownDecision);
  });

  it('pauses a request that is not retried otherwise', () => {
    expect(decisionAfter(limitedOutcome(), {}, { once: true })).toMatchObject({ next: 'wait' });
  });
});

describe('a failure', () => {
  it('of a change on a connection that was already closed is sent again immediately, once', () => {
    const staleFailure = failureWith({ stale: true });
    expect(decisionAfter(staleFailure)).toEqual({ next: 'resend', reason: 'the connection was reset' });
    expect(decisionAfter(staleFailure, { resent: true })).toMatchObject({ next: 'retry', waitMilliseconds: 250 });
    expect(decisionAfter(staleFailure, { resent: true, retries: 3 })).toEqual(unknownDecision);
    expect(decisionAfter(staleFailure, readRequest)).toMatchObject({ next: 'retry' });
    expect(decisionAfter(failureWith())).toMatchObject({ next: 'retry' });
  });

  it.each([
    ['is final', { final: true }, {}, { canAfford: false }],
    ['may only be repeated once, and was', { retries: 1 }, { retries: 1 }, { canAfford: false }],
    ['comes after the last retry', {}, { retries: 3 }, { canAfford: false }],
    ['must not be repeated', {}, {}, { once: true, canAfford: false }],
  ])('is reported when it %s', (_, failure, progress, situation) => {
    expect(decisionAfter(failureWith(failure), progress, situation)).toEqual(unknownDecision);
    const message = 'Could not reach https://agents.example: the connection was reset.';
    expect(decisionAfter(failureWith(failure), { ...progress, ...readRequest }, situation)).toEqual(failDecision({ exit: 8, message }));
  });

  it('is repeated as often as it may help', () => {
    expect(decisionAfter(failureWith({ retries: 1 }))).toMatchObject({ next: 'retry' });
    expect(decisionAfter(failureWith(), { retries: 2 })).toMatchObject({ next: 'retry' });
  });

  it('is reported with the reason when the command has no retries left', () => {
    const reason = 'the connection was reset, and this command has no retries left because too many of its requests failed.';
    expect(decisionAfter(failureWith(), {}, { canAfford: false })).toEqual(
      failDecision({ exit: 13, message: `The outcome is unknown: ${reason}` }),
    );
    const message = `Could not reach https://agents.example: ${reason}`;
    expect(decisionAfter(failureWith(), readRequest, { canAfford: false })).toEqual(failDecision({ message }));
  });

  it('of a change is certain only if no attempt was sent', () => {
    const notSent = failureWith({ maybeSent: false, final: true });
    expect(decisionAfter(notSent)).toEqual(failDecision({ exit: 8, final: true }));
    expect(decisionAfter(notSent, { ambiguous: true })).toEqual(unknownDecision);
    expect(decisionAfter({ ...notSent, maybeSent: true })).toEqual(unknownDecision);
  });

  it('to reach the service says whether another attempt can help', () => {
    expect(decisionAfter(failureWith({ final: true }), readRequest)).toEqual(failDecision({ exit: 8, final: true }));
    expect(decisionAfter(failureWith(), { ...readRequest, retries: 3 })).toEqual(failDecision({ exit: 8, final: false }));
  });

  it('because of a large answer is reported as such to a read', () => {
    const largeFailure = failureWith({ final: true, reason: 'the answer is larger than 32 MiB', cause: { code: 'ERR_BODY_LIMIT' } });
    expect(decisionAfter(largeFailure, readRequest)).toEqual(failDecision({ code: 'answer_too_large', exit: 1 }));
    expect(decisionAfter(largeFailure)).toEqual(unknownDecision);
  });

  it.each([
    ['HTML', answerOutcome(200, '<html>', { 'content-type': 'text/html' }), 'the answer was text/html, not JSON.'],
    [
      'an unreadable type',
      answerOutcome(200, 'OK', { 'content-type': 'text/\u001b[31m' }),
      'the answer was something unreadable, not JSON.',
    ],
    ['a long type', answerOutcome(200, 'OK', { 'content-type': 'x'.repeat(61) }), 'the answer was something unreadable, not JSON.'],
    ['a type with parameters', answerOutcome(200, 'OK', { 'content-type': 'text/plain ; a=b' }), 'the answer was text/plain, not JSON.'],
    ['no type', answerOutcome(200, 'OK', { 'content-type': '' }), 'the answer was of an unknown type, not JSON.'],
  ])('because something else answers with %s is not repeated', (_, outcome, reason) => {
    const message = `Something other than the service answers at https://agents.example: ${reason}`;
    expect(decisionAfter(outcome, readRequest)).toEqual(
      failDecision({ exit: 8, message, hint: expect.stringContaining('sign in with a browser') }),
    );
    expect(decisionAfter(outcome)).toEqual(unknownDecision);
  });

  it.each([
    ['cut off', answerOutcome(200, '{"run"'), 'the answer was not complete JSON'],
    ['empty', answerOutcome(200, ''), 'the answer was not complete JSON'],
    ['encoded', answerOutcome(200, {}, { 'content-encoding': 'gzip' }), 'the answer was encoded as gzip, which was not requested'],
    [
      'not UTF-8',
      {
        kind: 'response',
        response: { status: 200, headers: { 'content-type': 'application/json' }, body: Buffer.from([0x22, 0xff, 0x22]) },
      },
      'the answer was not UTF-8',
    ],
  ] as [string, Outcome, string][])('of an answer that is %s is repeated', (_, outcome, reason) => {
    expect(decisionAfter(outcome, readRequest)).toEqual({ next: 'retry', waitMilliseconds: 250, reason });
    expect(decisionAfter(outcome)).toEqual({ next: 'retry', waitMilliseconds: 250, reason });
    const message = `Could not reach https://agents.example: ${reason}.`;
    expect(decisionAfter(outcome, { ...readRequest, retries: 3 })).toEqual(failDecision({ exit: 8, message }));
  });

  it.each([
    ['of its own', { hint: 'Renew it.' }, 'https://agents.example', 'Renew it.'],
    ['about TLS after a reset', { cause: { code: 'ECONNRESET' } }, 'http://agents.example', 'starts with https://'],
    ['about TLS after a close', { cause: { code: 'UND_ERR_SOCKET' } }, 'http://127.0.0.1:7700', 'starts with https://'],
    ['about the network with TLS', { cause: { code: 'ECONNRESET' } }, 'https://agents.example', 'Check the network'],
    ['about the network after other failures', { cause: { code: 'ENOTFOUND' } }, 'http://agents.example', 'Check the network'],
    ['about the local service', { cause: { code: 'ECONNREFUSED' } }, 'http://127.0.0.1:7700', 'aops local up'],
  ])('has a hint %s', (_, failure, baseUrl, hint) => {
    const decision = decisionAfter(failureWith({ ...failure, final: true }), readRequest, { baseUrl });
    expect(decision).toEqual(failDecision({ hint: expect.stringContaining(hint) }));
  });
});

describe('a redirect', () => {
  it.each([
    ['another service', 'https://elsewhere.example/v3?secret=1', 'to https://elsewhere.example,', 'Set the base URL'],
    ['another path of the service', 'https://agents.example/v3/runs?secret=1', 'to /v3/runs,', 'Send the request to that path'],
    ['a relative path', '/v3/runs', 'to /v3/runs,', 'Send the request to that path'],
    ['no address', undefined, 'to another address,', 'Set the base URL'],
    ['an address that is not a URL', 'https://', 'to another address,', 'Set the base URL'],
  ])('to %s is reported without its query', (_, location, text, hint) => {
    const decision = decisionAfter(answerOutcome(307, '', location === undefined ? {} : { location }));
    expect(decision).toEqual(
      failDecision({ code: 'redirected', hint: expect.stringContaining(hint), details: expect.objectContaining({ status: 307 }) }),
    );
    expect(decision).toHaveProperty('error.message', expect.stringContaining(text));
    expect(decision).toHaveProperty('error.message', expect.not.stringContaining('secret'));
  });
});

describe('the retry budget of a process', () => {
  const spendBudget = (count: number, budget = new RetryBudget()): RetryBudget => {
    for (let index = 0; index < count; index += 1) budget.spend();
    return budget;
  };

  it('allows a hundred retries', () => {
    expect([spendBudget(99).canAfford, spendBudget(100).canAfford]).toEqual([true, false]);
  });

  it('regains one retry from a success after a retry, or from five without', () => {
    const budget = spendBudget(110);
    budget.recordSuccess(true);
    expect([budget.canAfford, spendBudget(1, budget).canAfford]).toEqual([true, false]);
    for (let count = 1; count <= 5; count += 1) {
      expect(budget.canAfford).toBe(false);
      budget.recordSuccess(false);
    }
    expect(budget.canAfford).toBe(true);
  });

  it('does not grow beyond its initial size', () => {
    const budget = new RetryBudget();
    for (let count = 0; count < 20; count += 1) budget.recordSuccess(true);
    expect(spendBudget(100, budget).canAfford).toBe(false);
  });

  it('can allow none at all', () => {
    expect(new RetryBudget({ neverRetries: true })).toMatchObject({ neverRetries: true, canAfford: false });
    expect(new RetryBudget()).toMatchObject({ neverRetries: false, canAfford: true });
  });
});
