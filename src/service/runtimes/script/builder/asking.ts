/** Questions about one part of a request. Every one can be answered by leaving that part out. */
import { shorten } from '../../../../base/values.ts';
import type { HumanQuestion } from '../../../../interface/types.ts';
import { type Asker, isSameAnswer } from '../../../words/asking.ts';
import type { Statement } from '../../../words/statements.ts';

/** The option, and the answer in text, that drops a part of a request. */
const leaveOut = 'Leave it out';

/** The person has dropped this part of the request. */
export class PartDropped extends Error {}

export class StatementAsker {
  readonly #asker: Asker;
  readonly #number: number;

  /** @param number of the statement in the request, counted from 1 */
  constructor(asker: Asker, number: number) {
    this.#asker = asker;
    this.#number = number;
  }

  /** The index of the chosen option. @throws OpenQuestion, PartDropped */
  choose(statement: Statement, reason: string, options: readonly { label: string; description?: string }[]): number {
    const choices = [
      ...options.map((option, index) => ({ ...option, value: index })),
      { label: leaveOut, description: 'Continue without this part of the request', value: undefined },
    ];
    // The options are steps, which earlier parts of the request can change.
    const choice = this.#asker.choose(this.#question(statement, reason), choices, false);
    if (choice === undefined) throw new PartDropped();
    return choice;
  }

  /** A text. @throws OpenQuestion, PartDropped */
  text(statement: Statement, reason: string, isCertain = true): string {
    const answer = this.#asker.answer(this.#question(statement, `${reason} (or: ${leaveOut.toLowerCase()})`), isCertain);
    if (isSameAnswer(leaveOut, answer)) throw new PartDropped();
    return answer;
  }

  #question({ text }: Statement, reason: string): HumanQuestion {
    const part = shorten(text.replaceAll(/\s+/g, ' '), 80);
    return { question: `Request ${this.#number}, "${part}": ${reason}`, header: `Request ${this.#number}` };
  }
}
