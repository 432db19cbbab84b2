/** Explains why a command could not use the answers of a service. Loads the schemas, so it is loaded only after such a failure. */
import { AopsError, exitCodes } from '../base/errors.ts';
import { operation } from '../interface/operations.ts';
import { schemaProblems } from '../interface/schema-problems.ts';
import { schemasOf } from '../interface/schemas.ts';
import { Compile } from '../interface/validator.ts';
import type { ReceivedAnswer } from './answers.ts';

/** What code relies on. A word or a format that is unknown is only shown. */
const structural: ReadonlySet<string> = new Set(['type', 'required']);

/**
 * The error for the newest answer that lacks something which the interface promises, or has something else in its place.
 * @param cause the failure to explain
 */
export function unfitAnswer(answers: readonly ReceivedAnswer[], cause: unknown): AopsError | undefined {
  for (const { id, value, details } of answers) {
    const errors = Compile(schemasOf(id).response)
      .Errors(value)
      .filter(({ keyword }) => structural.has(keyword));
    const [problem] = errors.length === 0 ? [] : schemaProblems(errors);
    if (problem === undefined) continue;
    const message = problem.message === 'is required' ? 'is missing' : problem.message;
    const consequence = operation(id).idempotent ? 'The change was carried out. ' : '';
    return new AopsError(`The service sent an answer that does not fit the interface: ${problem.path} ${message}.`, {
      code: 'unusable_answer',
      exit: exitCodes.failure,
      hint: `${consequence}The service might implement another version of the interface; check it with \`aops doctor\`.`,
      details,
      cause,
    });
  }
  return undefined;
}
