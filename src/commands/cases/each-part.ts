/** The requests of a bulk command, one after the other: adds up what they did, and reports it truthfully when one of them fails. */

import { AopsError } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';
import { ResultError } from '../../cli/kit/result-error.ts';
import { repeatHint } from '../../client/errors.ts';
import type { Part, Selection } from './selection.ts';

/**
 * Sends a request for each part, and adds up what they answer: counts, and lists of ids.
 * @param again what to do after a failure, when earlier requests were carried out
 * @throws ResultError with what was done, when a request after the first fails; otherwise what it fails with
 */
export async function eachPart<Answer extends object>(
  { parts }: Selection,
  send: (part: Part) => Promise<Answer>,
  again = repeatWithKey,
): Promise<Answer> {
  const whole: Record<string, unknown> = {};
  for (const [index, part] of parts.entries()) {
    let answer: Answer;
    try {
      answer = await send(part);
    } catch (error) {
      throw parts.length === 1 ? error : partlyDone(error, { whole, parts, failed: index, again });
    }
    add(whole, answer);
  }
  return whole as Answer;
}

function add(whole: Record<string, unknown>, answer: object): void {
  for (const [name, value] of Object.entries(answer)) {
    const before = whole[name];
    whole[name] = Array.isArray(value) ? [...((before as unknown[] | undefined) ?? []), ...value] : Number(before ?? 0) + Number(value);
  }
}

/** What keeps the requests that were carried out from being carried out again. */
const repeatWithKey = (key: string | undefined): string =>
  `Run the same command again with --idempotency-key ${key}: what was done is not done again.`;

interface Progress {
  /** What the requests before it answered. */
  whole: object;
  parts: readonly Part[];
  failed: number;
  again: (key: string | undefined) => string;
}

/** The failure with which of the cases it leaves in which state, and with what was done before. */
function partlyDone(error: unknown, { whole, parts, failed, again }: Progress): unknown {
  if (!(error instanceof AopsError)) return error;
  const key = error.details.idempotency_key;
  // Also of one that was interrupted, or ran out of time.
  const isOpen = key !== undefined && error.hint === repeatHint(key);
  if (failed === 0 && !isOpen) return error;
  const sizes = parts.map(({ body }) => ('case_ids' in body ? body.case_ids.length : 0));
  const sum = (from: number, to: number): number => sizes.slice(from, to).reduce((total, size) => total + size, 0);
  const [done, sent, left] = [sum(0, failed), sum(failed, failed + 1), sum(failed + 1, parts.length)];
  const states = [
    ...(done === 0 ? [] : [`${done} were done before`]),
    ...(isOpen ? [`what became of ${sent} is unknown`] : []),
    ...(isOpen && left === 0 ? [] : [isOpen ? `${left} were not sent` : `${sent + left} were not`]),
  ];
  const partial = new AopsError(`${error.message} Of ${pluralize(done + sent + left, 'case')}, ${inWords(states)}.`, {
    code: error.code,
    exit: error.exit,
    hint: isOpen ? `Settle it with \`aops retry ${key}\`. ${again(key)}` : again(key),
    details: error.details,
    cause: error,
  });
  return done === 0 ? partial : new ResultError(partial, whole);
}

/** `a`, `a and b`, `a, b, and c` */
const inWords = (parts: readonly string[]): string =>
  parts.length < 3 ? parts.join(' and ') : `${parts.slice(0, -1).join(', ')}, and ${parts.at(-1)}`;
