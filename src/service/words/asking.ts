/** Questions to the person who made a request, and their answers when the request is read again. */
import type { HumanQuestion } from '../../interface/types.ts';

/** A request cannot be carried out before this question is answered. */
export class OpenQuestion extends Error {
  readonly question: HumanQuestion;
  /** Whether the question would be the same if the earlier parts of the request had been carried out. */
  readonly isCertain: boolean;

  constructor(question: HumanQuestion, isCertain = true) {
    super(question.question);
    this.question = question;
    this.isCertain = isCertain;
  }
}

/** One of the answers to choose from. */
export interface Choice<Value> {
  label: string;
  description?: string;
  value: Value;
}

/** Looks up the answers that a request came with. */
export class Asker {
  readonly #answers: Readonly<Record<string, string>>;

  /** @param answers by the question's text */
  constructor(answers: Readonly<Record<string, string>>) {
    this.#answers = answers;
  }

  /** The answer to a question that is answered with a text. @throws OpenQuestion when it has not been answered */
  answer(question: HumanQuestion, isCertain = true): string {
    const answer = this.#find(question);
    if (answer === undefined) throw new OpenQuestion(question, isCertain);
    return answer;
  }

  /** The value of the chosen option. @throws OpenQuestion when none of the options has been chosen */
  choose<Value>(question: Omit<HumanQuestion, 'options'>, choices: readonly Choice<Value>[], isCertain = true): Value {
    const answer = this.#find(question);
    const choice =
      answer === undefined
        ? undefined
        : (choices.find(({ label }) => label === answer) ?? choices.find(({ label }) => isSameAnswer(label, answer)));
    if (choice) return choice.value;
    const options = choices.map(({ label, description }) => ({ label, ...(description === undefined ? {} : { description }) }));
    throw new OpenQuestion({ ...question, options }, isCertain);
  }

  #find({ question }: HumanQuestion): string | undefined {
    return Object.hasOwn(this.#answers, question) ? this.#answers[question]?.trim() : undefined;
  }
}

/** Whether an answer is that label, in any case and with or without a full stop. */
export function isSameAnswer(label: string, answer: string): boolean {
  const [a, b] = [label, answer].map((text) => text.trim().replace(/\.$/, '').toLowerCase());
  return a === b;
}
