/** Steps that wait for a person: ask, approve. The request is rendered once and journalled, so that its answer always matches it. */
import type { HumanQuestion } from '../../../interface/types.ts';
import type { HumanAnswer, HumanRequestDraft } from '../run-host.ts';
import { text, texts } from './rendering/parts.ts';
import type { StepOf } from './schema.ts';
import { type Entry, nameOf, type Pause, StepError, type StepOutcome, type Turn } from './turn.ts';

export async function ask(step: StepOf<'ask'>, turn: Turn): Promise<StepOutcome | Pause> {
  const request = await turn.computeOnce(step, 'request', async (): Promise<HumanRequestDraft> => {
    // Texts, not typed values: a question or option that consists of a single output stays a text.
    const values = await turn.render(step, { questions: texts(step.payload.questions), title: text(step.payload.title) });
    const questions = values.questions.map(
      // An option that turns out to be empty cannot be chosen.
      ({ options, ...question }): HumanQuestion => ({
        ...question,
        ...(options === undefined ? {} : { options: options.filter(({ label }) => label.trim() !== '') }),
      }),
    );
    requireAnswerable(step, questions);
    return { type: 'question', title: values.title ?? titleOf(questions), questions };
  });
  const answer = turn.host.answer(step.key);
  if (answer === undefined) return { status: 'waiting', step: step.key, request };
  if (answer.type !== 'question') throw new StepError(`${nameOf(step)} asked a question and was answered with a decision.`);
  return { entry: { answer: answerOf(request.questions ?? [], answer) } };
}

/** Checks questions after rendering. Throws a StepError if they cannot be answered. */
function requireAnswerable(step: StepOf<'ask'>, questions: readonly HumanQuestion[]): void {
  const ids = new Set<string>();
  for (const [index, { question, options }] of questions.entries()) {
    if (question.trim() === '') throw new StepError(`${nameOf(step)}: question ${index + 1} is empty.`);
    if (options?.length === 0) throw new StepError(`${nameOf(step)}: all options of "${question}" are empty.`);
    if (ids.has(question))
      throw new StepError(
        `${nameOf(step)}: "${question}" is asked twice; each question must be different, because it identifies the answer.`,
      );
    ids.add(question);
  }
}

function titleOf(questions: readonly HumanQuestion[]): string {
  const [first, ...remaining] = questions;
  return remaining.length === 0 ? (first?.question ?? '') : `${first?.question} (and ${remaining.length} more)`;
}

/** For one question, its answer; for several, a mapping by question and by header, if any. */
function answerOf(questions: readonly HumanQuestion[], { answers }: Extract<HumanAnswer, { type: 'question' }>): Entry['answer'] {
  const answeredQuestions = questions.map(({ question, header }) => {
    const answer = lookUp(answers, question) ?? (header === undefined ? undefined : lookUp(answers, header)) ?? '';
    return { question, header, answer: Array.isArray(answer) ? answer.join(', ') : answer };
  });
  if (answeredQuestions.length === 1) return answeredQuestions[0]?.answer;
  const byHeader = answeredQuestions.flatMap(({ header, answer }) => (header === undefined ? [] : [[header, answer]]));
  return Object.fromEntries([...byHeader, ...answeredQuestions.map(({ question, answer }) => [question, answer])]) as Record<
    string,
    string
  >;
}

const lookUp = (answers: Record<string, string | string[]>, key: string): string | string[] | undefined =>
  Object.hasOwn(answers, key) ? answers[key] : undefined;

export async function approve(step: StepOf<'approve'>, turn: Turn): Promise<StepOutcome | Pause> {
  const { payload } = step;
  const request = await turn.computeOnce(step, 'request', async (): Promise<HumanRequestDraft> => {
    const { title, description } = await turn.render(step, { title: text(payload.title), description: text(payload.description) });
    return { type: 'approval', title, ...(description === undefined ? {} : { description }) };
  });
  const decision = turn.host.answer(step.key);
  if (decision === undefined) return { status: 'waiting', step: step.key, request };
  if (decision.type !== 'approval') throw new StepError(`${nameOf(step)} asked for approval and was answered with a text.`);
  const reason = decision.reason ?? '';
  const entry: Entry = { answer: decision.approved, result: { approved: decision.approved, reason } };
  if (decision.approved) return { entry };
  // on_deny can contain the reason.
  turn.note(step, entry);
  return denyStep(step, turn, entry, `"${request.title}" was denied${reason === '' ? '.' : `: ${reason}`}`);
}

async function denyStep(step: StepOf<'approve'>, turn: Turn, entry: Entry, message: string): Promise<StepOutcome> {
  const onDeny = step.payload.on_deny ?? 'fail';
  if (onDeny === 'continue') return { entry };
  if (onDeny === 'stop') return { entry: { ...entry, ends: { status: 'completed' } } };
  if (onDeny === 'fail') return { entry: { ...entry, ends: { status: 'failed', error: message } } };
  const { say, fail } = await turn.render(step, { say: text(onDeny.say), fail: text(onDeny.fail) });
  const events = say === undefined ? [] : [{ kind: 'text' as const, id: `${step.key}:denied`, text: say }];
  const ends: Entry['ends'] = fail === undefined ? { status: 'completed' } : { status: 'failed', error: fail };
  return { entry: { ...entry, ends }, events };
}
