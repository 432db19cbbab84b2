/**
 * The human requests of an agent. They belong to the run, not to the process: each is journalled under a key with the fingerprint of its
 * subject, and its answer is used once, for a request with the same fingerprint from whichever process.
 */
import { isObject } from '../../../base/values.ts';
import type { HumanAnswer, HumanRequestDraft, RunHost } from '../run-host.ts';

/** A request in the journal. */
interface StoredRequest {
  fingerprint: string;
  title: string;
  type: HumanRequestDraft['type'];
}

/** The answer to a request that no agent has received. */
export interface UnusedAnswer {
  key: string;
  title: string;
  answer: HumanAnswer;
}

const keyPattern = /^request-(\d+)$/;
const usedKey = (key: string): string => `${key}:used`;

function* storedRequests(host: RunHost): Generator<[string, StoredRequest]> {
  for (const [key, value] of host.journal) if (keyPattern.test(key) && isObject(value)) yield [key, value as unknown as StoredRequest];
}

/** The answers that no agent has received, oldest first. */
export function unusedAnswers(host: RunHost): UnusedAnswer[] {
  const answers: UnusedAnswer[] = [];
  for (const [key, { title }] of storedRequests(host)) {
    const answer = host.journal.has(usedKey(key)) ? undefined : host.answer(key);
    if (answer !== undefined) answers.push({ key, title, answer });
  }
  return answers;
}

/** The key of an earlier request with this fingerprint whose answer has not been used yet. */
export function answeredKey(host: RunHost, fingerprint: string): string | undefined {
  for (const [key, stored] of storedRequests(host))
    if (stored.fingerprint === fingerprint && !host.journal.has(usedKey(key)) && host.answer(key) !== undefined) return key;
  return undefined;
}

/** Journals a new request. Returns its key, which is the step that the answer belongs to. */
export async function storeRequest(host: RunHost, fingerprint: string, { title, type }: HumanRequestDraft): Promise<string> {
  const key = `request-${[...storedRequests(host)].length + 1}`;
  await host.commit(key, { fingerprint, title, type } satisfies StoredRequest);
  return key;
}

/** Journals that an agent gets the answer. Call it before sending the answer, so that an approval cannot be used twice. */
export async function useAnswer(host: RunHost, key: string): Promise<void> {
  await host.commit(usedKey(key), true);
}
