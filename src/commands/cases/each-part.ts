/** Sends the requests of a bulk command one after another, adds up their results, and reports partial results when one of them fails. */

import { AopsError } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';
import { ResultError } from '../../cli/kit/result-error.ts';
import { OpenChangeError } from '../../client/errors.ts';
import type { Part, Selection } from './selection.ts';

/**
 * Sends a request for each part, and combines the responses: counts are added up, and lists of IDs joined.
 * @param hintFor what to do after a failure, when earlier requests were carried out
 * @throws ResultError with the partial result when a request after the first fails; otherwise the original error
 */
export async function eachPart<Answer extends object>(
  { parts }: Selection,
  send: (part: Part) => Promise<Answer>,
  hintFor = repeatWithKey,
): Promise<Answer> {
  const combinedResult: Record<string, unknown> = {};
  for (const [index, part] of parts.entries()) {
    let answer: Answer;
    try {
      answer = await send(part);
    } catch (error) {
      throw parts.length === 1 ? error : partialFailure(error, { combinedResult, parts, failedIndex: index, hintFor });
    }
    add(combinedResult, answer);
  }
  return combinedResult as Answer;
}

function add(combinedResult: Record<string, unknown>, answer: object): void {
  for (const [name, value] of Object.entries(answer)) {
    const previous = combinedResult[name];
    combinedResult[name] = Array.isArray(value)
      ? [...((previous as unknown[] | undefined) ?? []), ...value]
      : Number(previous ?? 0) + Number(value);
  }
}

/** How to repeat the command without repeating the requests that were carried out. */
const repeatWithKey = (key: string | undefined): string =>
  `Run the same command again with --idempotency-key ${key}; requests that were carried out are not repeated.`;

interface Progress {
  /** The combined responses of the requests before it. */
  combinedResult: object;
  parts: readonly Part[];
  failedIndex: number;
  hintFor: (key: string | undefined) => string;
}

/** The failure, with how many cases are in which state and the partial result. */
function partialFailure(error: unknown, { combinedResult, parts, failedIndex, hintFor }: Progress): unknown {
  if (!(error instanceof AopsError)) return error;
  const key = error.details.idempotency_key;
  // This also covers interruptions and timeouts.
  const isOpen = error instanceof OpenChangeError;
  if (failedIndex === 0 && !isOpen) return error;
  const sizes = parts.map(({ body }) => ('case_ids' in body ? body.case_ids.length : 0));
  const casesIn = (from: number, to: number): number => sizes.slice(from, to).reduce((total, size) => total + size, 0);
  const [succeeded, sent, unsent] = [
    casesIn(0, failedIndex),
    casesIn(failedIndex, failedIndex + 1),
    casesIn(failedIndex + 1, parts.length),
  ];
  const states = [
    ...(succeeded === 0 ? [] : [`${succeeded} succeeded`]),
    ...(isOpen ? [`the outcome of ${sent} is unknown`] : []),
    ...(isOpen && unsent === 0 ? [] : [isOpen ? `${unsent} were not sent` : `${sent + unsent} did not`]),
  ];
  const partial = new AopsError(`${error.message} Of ${pluralize(succeeded + sent + unsent, 'case')}, ${inWords(states)}.`, {
    code: error.code,
    exit: error.exit,
    hint: isOpen && error.isNoted ? `Settle it with \`aops retry ${key}\`. ${hintFor(key)}` : hintFor(key),
    details: error.details,
    cause: error,
  });
  return succeeded === 0 ? partial : new ResultError(partial, combinedResult);
}

/** `a`, `a and b`, `a, b, and c` */
const inWords = (parts: readonly string[]): string =>
  parts.length < 3 ? parts.join(' and ') : `${parts.slice(0, -1).join(', ')}, and ${parts.at(-1)}`;
