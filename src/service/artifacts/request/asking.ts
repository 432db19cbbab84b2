/** What a request leaves open, as a question to who made it; and the answer, when the request is read again. */
import type { HumanQuestion } from '../../../interface/types.ts';

/** The request cannot be carried out before this is answered. */
export class Open extends Error {
  readonly question: HumanQuestion;

  constructor(question: HumanQuestion) {
    super(question.question);
    this.question = question;
  }
}

/** The request cannot be carried out; the message is for people. */
export class Refused extends Error {}

export class Asker {
  readonly #answers: Readonly<Record<string, string>>;

  constructor(answers: Readonly<Record<string, string>>) {
    this.#answers = answers;
  }

  /** One of several. @throws Open */
  choose<Value>(question: string, header: string, options: readonly { label: string; description?: string; value: Value }[]): Value {
    const answer = Object.hasOwn(this.#answers, question) ? this.#answers[question] : undefined;
    const chosen = options.find(({ label }) => label === answer);
    if (chosen) return chosen.value;
    throw new Open({
      question,
      header,
      options: options.map(({ label, description }) => ({ label, ...(description === undefined ? {} : { description }) })),
    });
  }
}
