/**
 * The builder of the script runtime: changes a procedure as a request in plain words describes. It is deterministic: the same request
 * and answers always give the same procedure. It understands the phrases in docs/revisions.md and reports everything else. It is the
 * offline fallback for a model, which would implement `Builder` (runtime.ts) in its place; no new phrases are added to it.
 */
import type { HumanQuestion } from '../../../../interface/types.ts';
import { ServiceError } from '../../../errors.ts';
import { Asker, OpenQuestion } from '../../../words/asking.ts';
import { limitParts, RefusalError, unfinishedOutcome } from '../../../words/outcome.ts';
import type { Builder, BuildOutcome, BuildRequest } from '../../builder.ts';
import { parseProcedure } from '../parse.ts';
import type { Procedure } from '../schema.ts';
import { applyCommand } from './apply.ts';
import { PartDropped, StatementAsker } from './asking.ts';
import { readCommand } from './commands.ts';
import { Draft } from './draft.ts';
import { nothingUnderstood } from './help.ts';
import type { Schedule } from './schedule.ts';
import { setupChanges } from './setup.ts';
import { type BuilderStatement, readStatements } from './statements.ts';

const maxStatements = 200;
/** Problems of a changed procedure that are listed. */
const maxProblems = 10;

export const scriptBuilder: Builder = {
  async build(request, enter) {
    try {
      await enter('understanding');
      const statements = readStatements(request.prompt);
      limitParts('request', statements, maxStatements);
      if (!statements.some(readCommand)) throw new RefusalError(nothingUnderstood(statements));
      await enter('editing');
      const work = new Work(request);
      for (const [index, statement] of statements.entries()) work.carryOut(statement, index + 1);
      if (work.questions.length > 0) return { status: 'asking', questions: work.questions };
      await enter('checking');
      return work.propose();
    } catch (error) {
      return unfinishedOutcome(error);
    }
  },
};

class Work {
  readonly questions: HumanQuestion[] = [];
  readonly #request: BuildRequest;
  readonly #asker: Asker;
  readonly #draft: Draft;
  readonly #changes: string[] = [];
  readonly #schedules: Schedule[] = [];

  constructor(request: BuildRequest) {
    this.#request = request;
    this.#asker = new Asker(request.answers);
    this.#draft = new Draft(request.procedure);
  }

  /** Carries out one part of the request, or records the question that it raises. @param number counted from 1 */
  carryOut(statement: BuilderStatement, number: number): void {
    try {
      this.#apply(statement, new StatementAsker(this.#asker, number));
    } catch (error) {
      if (error instanceof PartDropped) return;
      if (!(error instanceof OpenQuestion)) throw error;
      // A question that depends on an earlier part waits until that part is settled.
      if (error.isCertain || this.questions.length === 0) this.questions.push(error.question);
    }
  }

  #apply(statement: BuilderStatement, asker: StatementAsker): void {
    const command = readCommand(statement);
    if (command === undefined) {
      const newStatements = readStatements(asker.text(statement, 'this was not understood. How would you rephrase it?'));
      if (newStatements.length === 0 || !newStatements.every(readCommand)) throw new RefusalError(nothingUnderstood(newStatements));
      for (const part of newStatements) this.#apply(part, asker);
      return;
    }
    try {
      this.#changes.push(...applyCommand({ draft: this.#draft, statement, asker }, command));
    } catch (error) {
      // The answers to questions of earlier parts might still make it possible.
      if (!(error instanceof RefusalError) || this.questions.length === 0) throw error;
      return;
    }
    if (command.do === 'schedule') this.#schedules.push(command.schedule);
  }

  propose(): BuildOutcome {
    const { procedure: before } = this.#request;
    const procedure = this.#draft.toText();
    if (procedure === before && this.#schedules.length === 0) throw new RefusalError('The request would not change the procedure.');
    const after = checkProcedure(procedure);
    const setup = setupChanges(before === null ? undefined : parseOrUndefined(before), after, this.#request, this.#schedules);
    return { status: 'proposed', procedure, changes: this.#changes, setupChanges: setup, scheduleSuggested: this.#schedules.length > 0 };
  }
}

/** The changed procedure. @throws RefusalError with its problems when it is not valid */
function checkProcedure(procedure: string): Procedure {
  try {
    return parseProcedure(procedure);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const lines = procedure.split('\n');
    const problems = (error.details ?? [])
      .slice(0, maxProblems)
      .map(({ message, line }) => `- ${message} (in: ${lines[(line ?? 1) - 1]?.trim()})`);
    throw new RefusalError(
      ['The changed procedure would not be valid:', ...problems, 'Describe in the request how to change these parts as well.'].join('\n'),
    );
  }
}

/** Undefined for a procedure that was valid only for another version. */
function parseOrUndefined(text: string): Procedure | undefined {
  try {
    return parseProcedure(text);
  } catch {
    return undefined;
  }
}
