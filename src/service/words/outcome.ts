/**
 * How reading a request ends: it is done, it raises questions, or it fails. The phrase grammars (runtimes/script/builder,
 * artifacts/request) return these outcomes, and so would a model in their place: a `Builder`, or a function like `compose`. The
 * grammars are the offline fallback for a model; no new phrases are added to them.
 */
import type { HumanQuestion } from '../../interface/types.ts';
import { OpenQuestion } from './asking.ts';

export type UnfinishedOutcome = { status: 'asking'; questions: HumanQuestion[] } | { status: 'failed'; error: string };

/** `Success` has another `status`. */
export type Outcome<Success extends { status: string }> = Success | UnfinishedOutcome;

/** A request cannot be carried out. The message, in complete sentences, is shown to the person who made it. */
export class RefusalError extends Error {}

/** The outcome of a request that stopped with an error. @throws the error when it is neither a question nor a refusal */
export function unfinishedOutcome(error: unknown): UnfinishedOutcome {
  if (error instanceof OpenQuestion) return { status: 'asking', questions: [error.question] };
  if (error instanceof RefusalError) return { status: 'failed', error: error.message };
  throw error;
}

/** @throws RefusalError when a request has more than `maxParts` parts */
export function limitParts(kind: 'request' | 'message', parts: readonly unknown[], maxParts: number): void {
  if (parts.length > maxParts) throw new RefusalError(`The ${kind} has ${parts.length} parts; at most ${maxParts} are allowed.`);
}
