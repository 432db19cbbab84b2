/** Steps that wait for a person: ask, approve. The request is rendered once and journalled, so that its answer always fits it. */
import type { HumanQuestion } from '../../../interface/types.ts';
import type { HumanAnswer, HumanRequestDraft } from '../runtime.ts';
import { text, texts } from './rendering/parts.ts';
import type { StepOf } from './schema.ts';
import { type Done, type Entry, nameOf, type Pause, StepError, type Turn } from './turn.ts';

export async function ask(step: StepOf<'ask'>, turn: Turn): Promise<Done | Pause> {
  const request = await turn.once(step, 'request', async (): Promise<HumanRequestDraft> => {
    // Texts, not typed values: a question or option that is one output and nothing else stays a text.
    const rendered = await turn.render(step, { questions: texts(step.payload.questions), title: text(step.payload.title) });
    const questions = rendered.questions.map(
      // An option that turns out to be empty cannot be chosen.
      ({ options, ...question }): HumanQuestion => ({
        ...question,
        ...(options === undefined ? {} : { options: options.filter(({ label }) => label.trim() !== '') }),
      }),
    );
    requireAnswerable(step, questions);
    return { type: 'question', title: rendered.title ?? titleOf(questions), questions };
  });
  const answer = turn.host.answer(step.key);
  if (answer === undefined) return { status: 'waiting', step: step.key, request };
  if (answer.type !== 'question') throw new StepError(`${nameOf(step)} asked a question and was answered with a decision.`);
  return { entry: { answer: answerOf(request.questions ?? [], answer) } };
}

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
  const request = await turn.once(step, 'request', async (): Promise<HumanRequestDraft> => {
    const { title, description } = await turn.render(step, { title: text(payload.title), description: text(payload.description) });
    return { type: 'approval', title, ...(description === undefined ? {} : { description }) };
  });
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

async function denied(step: StepOf<'approve'>, turn: Turn, entry: Entry, message: string): Promise<Done> {
  const then = step.payload.on_deny ?? 'fail';
  if (then === 'continue') return { entry };
  if (then === 'stop') return { entry: { ...entry, ends: { status: 'completed' } } };
  if (then === 'fail') return { entry: { ...entry, ends: { status: 'failed', error: message } } };
  const { say, fail } = await turn.render(step, { say: text(then.say), fail: text(then.fail) });
  const events = say === undefined ? [] : [{ kind: 'text' as const, id: `${step.key}:denied`, text: say }];
  const ends: Entry['ends'] = fail === undefined ? { status: 'completed' } : { status: 'failed', error: fail };
  return { entry: { ...entry, ends }, events };
}
