/** What a request leaves open, as questions to the person who made it; and their answers when the request is read again. */
import { shortened } from '../../../../base/values.ts';
import type { HumanQuestion } from '../../../../interface/types.ts';
import type { Statement } from './statements.ts';

/** The answer, and the option, that gives a part of a request up. */
export const leaveOut = 'Leave it out';

/** A statement cannot be carried out before this is answered. */
export class Open extends Error {
  readonly question: HumanQuestion;
  /** Whether the question would be the same if the statements before it had been carried out. */
  readonly certain: boolean;

  constructor(question: HumanQuestion, certain: boolean) {
    super(question.question);
    this.question = question;
    this.certain = certain;
  }
}

/** The person gave the statement up. */
export class LeftOut extends Error {}

/** Asks about one statement. What was answered before is answered at once. */
export class Asker {
  readonly #answers: Readonly<Record<string, string>>;
  readonly #number: number;

  constructor(number: number, answers: Readonly<Record<string, string>>) {
    this.#number = number;
    this.#answers = answers;
  }

  /** One of several; the index of the chosen one. @throws Open, LeftOut */
  choose(statement: Statement, why: string, options: readonly { label: string; description?: string }[]): number {
    const all = [...options, { label: leaveOut, description: 'Go on without this part of the request' }];
    const answer = this.#answer({ ...this.#question(statement, why), options: all }, false);
    return options.findIndex(({ label }) => label === answer);
  }

  /** A text. @throws Open, LeftOut */
  text(statement: Statement, why: string, certain = true): string {
    return this.#answer(this.#question(statement, `${why} (or: ${leaveOut.toLowerCase()})`), certain);
  }

  #question(statement: Statement, why: string): HumanQuestion {
    return { question: `Request ${this.#number}, ${shortly(statement.text)}: ${why}`, header: `Request ${this.#number}` };
  }

  #answer(question: HumanQuestion, certain: boolean): string {
    const answer = Object.hasOwn(this.#answers, question.question) ? this.#answers[question.question] : undefined;
    if (answer === undefined) throw new Open(question, certain);
    if (answer.trim().replace(/\.$/, '').toLowerCase() === leaveOut.toLowerCase()) throw new LeftOut();
    return answer.trim();
  }
}

const shortly = (text: string): string => `"${shortened(text.replaceAll(/\s+/g, ' '), 80)}"`;
