/** Steps that wait for a person: ask, approve. The request is rendered once and journalled, so that its answer always fits it. */
import type { HumanQuestion } from '../../../interface/types.ts';
import type { HumanAnswer, HumanRequestDraft } from '../runtime.ts';
import type { StepOf } from './schema.ts';
import { render } from './template.ts';
import { type Done, type Entry, nameOf, type Pause, StepError, type Turn } from './turn.ts';

export async function ask(step: StepOf<'ask'>, turn: Turn): Promise<Done | Pause> {
  const request = await turn.once(step, 'request', (): HumanRequestDraft => {
    // Texts, not typed values: a question or option that is one output and nothing else stays a text.
    const questions = step.payload.questions.map((question): HumanQuestion => {
      const { options, multi_select } = question;
      return {
        question: render(question.question, turn.scope),
        ...(question.header === undefined ? {} : { header: render(question.header, turn.scope) }),
        // One that turns out to be empty cannot be chosen.
        ...(options === undefined
          ? {}
          : { options: options.map((option) => texts(option, turn)).filter(({ label }) => label.trim() !== '') }),
        ...(multi_select === undefined ? {} : { multi_select }),
      };
    });
    requireAnswerable(step, questions);
    return {
      type: 'question',
      title: step.payload.title === undefined ? titleOf(questions) : render(step.payload.title, turn.scope),
      questions,
    };
  });
  const answer = turn.host.answer(step.key);
  if (answer === undefined) return { status: 'waiting', step: step.key, request };
  if (answer.type !== 'question') throw new StepError(`${nameOf(step)} asked a question and was answered with a decision.`);
  return { entry: { answer: answerOf(request.questions ?? [], answer) } };
}

const texts = <T extends Record<string, string | undefined>>(value: T, turn: Turn): T =>
  Object.fromEntries(Object.entries(value).map(([key, text]) => [key, render(text ?? '', turn.scope)])) as T;

/** What templates have made of the questions is known only now. Throws a StepError where nobody could answer them. */
function requireAnswerable(step: StepOf<'ask'>, questions: readonly HumanQuestion[]): void {
  const seen = new Set<string>();
  for (const [index, { question, options }] of questions.entries()) {
    if (question.trim() === '') throw new StepError(`${nameOf(step)}: question ${index + 1} is empty.`);
    if (options?.length === 0) throw new StepError(`${nameOf(step)}: all options of "${question}" are empty.`);
    if (seen.has(question)) throw new StepError(`${nameOf(step)}: "${question}" is asked twice; answers are told apart by the question.`);
    seen.add(question);
  }
}

function titleOf(questions: readonly HumanQuestion[]): string {
  const [first, ...others] = questions;
  return others.length === 0 ? (first?.question ?? '') : `${first?.question} (and ${others.length} more)`;
}

/** One question: its answer. Several: a mapping by question, and by header where there is one. */
function answerOf(questions: readonly HumanQuestion[], { answers }: Extract<HumanAnswer, { type: 'question' }>): Entry['answer'] {
  const given = questions.map(({ question, header }) => {
    const answer = lookUp(answers, question) ?? (header === undefined ? undefined : lookUp(answers, header)) ?? '';
    return { question, header, answer: Array.isArray(answer) ? answer.join(', ') : answer };
  });
  if (given.length === 1) return given[0]?.answer;
  const byHeader = given.flatMap(({ header, answer }) => (header === undefined ? [] : [[header, answer]]));
  return Object.fromEntries([...byHeader, ...given.map(({ question, answer }) => [question, answer])]) as Record<string, string>;
}

const lookUp = (answers: Record<string, string | string[]>, key: string): string | string[] | undefined =>
  Object.hasOwn(answers, key) ? answers[key] : undefined;

export async function approve(step: StepOf<'approve'>, turn: Turn): Promise<Done | Pause> {
  const { payload } = step;
  const request = await turn.once(
    step,
    'request',
    (): HumanRequestDraft => ({
      type: 'approval',
      title: render(payload.title, turn.scope),
      ...(payload.description === undefined ? {} : { description: render(payload.description, turn.scope) }),
    }),
  );
  const decision = turn.host.answer(step.key);
  if (decision === undefined) return { status: 'waiting', step: step.key, request };
  if (decision.type !== 'approval') throw new StepError(`${nameOf(step)} asked for approval and was answered with a text.`);
  const reason = decision.reason ?? '';
  const entry: Entry = { answer: decision.approved, result: { approved: decision.approved, reason } };
  if (decision.approved) return { entry };
  // on_deny may name the reason.
  turn.note(step, entry);
  return denied(step, turn, entry, `"${request.title}" was denied${reason === '' ? '.' : `: ${reason}`}`);
}

function denied(step: StepOf<'approve'>, turn: Turn, entry: Entry, message: string): Done {
  const then = step.payload.on_deny ?? 'fail';
  if (then === 'continue') return { entry };
  if (then === 'stop') return { entry: { ...entry, ends: { status: 'completed' } } };
  if (then === 'fail') return { entry: { ...entry, ends: { status: 'failed', error: message } } };
  const events = then.say === undefined ? [] : [{ kind: 'text' as const, id: `${step.key}:denied`, text: render(then.say, turn.scope) }];
  const ends: Entry['ends'] =
    then.fail === undefined ? { status: 'completed' } : { status: 'failed', error: render(then.fail, turn.scope) };
  return { entry: { ...entry, ends }, events };
}
