/**
 * The builder of the script runtime: changes a procedure by a request in plain words. It is deterministic and knows what
 * docs/revisions.md lists: the same request and the same answers always give the same procedure. What it does not understand it says.
 */
import { nearest } from '../../../../base/nearest.ts';
import { shortened } from '../../../../base/values.ts';
import type { HumanQuestion } from '../../../../interface/types.ts';
import { ServiceError } from '../../../errors.ts';
import type { Builder, BuildOutcome, BuildRequest } from '../../runtime.ts';
import { parseProcedure } from '../parse.ts';
import type { Procedure } from '../schema.ts';
import { applyCommand } from './apply.ts';
import { Asker, LeftOut, Open } from './asking.ts';
import { readCommand } from './commands.ts';
import { Draft } from './draft.ts';
import { understood, verbs } from './help.ts';
import type { Schedule } from './schedule.ts';
import { setupChanges } from './setup.ts';
import { readStatements, type Statement } from './statements.ts';

/** The most statements of a request. */
const mostStatements = 200;

export const scriptBuilder: Builder = {
  async build(request, enter) {
    try {
      await enter('understanding');
      const statements = readStatements(request.prompt);
      if (statements.length > mostStatements) throw new Error(`the request has ${statements.length} parts; ${mostStatements} are the most`);
      if (!statements.some(readCommand)) return { status: 'failed', error: notUnderstood(statements) };
      await enter('editing');
      const work = new Work(request);
      for (const [index, statement] of statements.entries()) work.carryOut(statement, index + 1);
      if (work.questions.length > 0) return { status: 'asking', questions: work.questions };
      await enter('checking');
      return work.propose();
    } catch (error) {
      if (!(error instanceof Error) || error instanceof TypeError || error instanceof RangeError) throw error;
      return { status: 'failed', error: sentence(error.message) };
    }
  },
};

class Work {
  readonly questions: HumanQuestion[] = [];
  readonly #request: BuildRequest;
  readonly #draft: Draft;
  readonly #changes: string[] = [];
  readonly #schedules: Schedule[] = [];

  constructor(request: BuildRequest) {
    this.#request = request;
    this.#draft = new Draft(request.procedure);
  }

  /** Carries out one part of the request, or notes what has to be asked for it. */
  carryOut(statement: Statement, number: number): void {
    const asker = new Asker(number, this.#request.answers);
    try {
      this.#apply(statement, asker);
    } catch (thrown) {
      if (thrown instanceof LeftOut) return;
      if (!(thrown instanceof Open)) throw thrown;
      // What an earlier part will have changed is not asked for now.
      if (thrown.certain || this.questions.length === 0) this.questions.push(thrown.question);
    }
  }

  #apply(statement: Statement, asker: Asker): void {
    const command = readCommand(statement);
    if (command === undefined) {
      const again = readStatements(asker.text(statement, 'this was not understood. How else can it be said?'));
      if (again.length === 0 || !again.every(readCommand)) throw new Error(notUnderstood(again));
      for (const other of again) this.#apply(other, asker);
      return;
    }
    try {
      this.#changes.push(...applyCommand({ draft: this.#draft, statement, asker }, command));
    } catch (error) {
      // Questions that are open may yet make it possible.
      if (error instanceof Open || error instanceof LeftOut || this.questions.length === 0) throw error;
      return;
    }
    if (command.do === 'schedule') this.#schedules.push(command.schedule);
  }

  propose(): BuildOutcome {
    const { procedure: before } = this.#request;
    const procedure = this.#draft.toText();
    if (procedure === before && this.#schedules.length === 0) return { status: 'failed', error: 'Nothing of the procedure would change.' };
    let after: Procedure;
    try {
      after = parseProcedure(procedure);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const lines = procedure.split('\n');
      const found = (error.details ?? []).slice(0, 10).map(({ message, line }) => `${message} (in: ${lines[(line ?? 1) - 1]?.trim()})`);
      const shown = [
        'The changed procedure would not be valid:',
        ...found.map((problem) => `- ${problem}`),
        'Say in the request what should become of these as well.',
      ];
      return { status: 'failed', error: shown.join('\n') };
    }
    const setup = setupChanges(before === null ? undefined : readable(before), after, this.#request, this.#schedules);
    return { status: 'proposed', procedure, changes: this.#changes, setupChanges: setup, scheduleSuggested: this.#schedules.length > 0 };
  }
}

/** A procedure that may have been valid for another version only. */
function readable(text: string): Procedure | undefined {
  try {
    return parseProcedure(text);
  } catch {
    return undefined;
  }
}

function notUnderstood(statements: readonly Statement[]): string {
  const quoted = statements.slice(0, 3).map(({ text }) => `"${shortened(text, 80)}"`);
  const verb = nearest(statements[0]?.words.split(/\s/)[0] ?? '', verbs);
  const meant = verb === undefined || statements[0]?.words.startsWith(verb) ? '' : ` Did you mean "${verb}"?`;
  return `${quoted.length === 0 ? 'The request is empty' : `Not understood: ${quoted.join(', ')}`}.${meant} The builder of the script runtime understands:\n${understood
    .map((line) => `- ${line}`)
    .join('\n')}`;
}

const sentence = (text: string): string => `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
