/** Lets the user pick a missing argument or option from a list, on an interactive terminal. */
import { AopsError, exitCodes } from '../../base/errors.ts';
import { forPeople } from '../kit/audience.ts';
import type { AnyCommand } from '../kit/command.ts';
import type { Context } from '../kit/context.ts';
import type { Argument, CompletionSource, Option, PickedRuns } from '../kit/flags.ts';
import { queueId } from '../names/resolve.ts';
import type { PickedSource } from './choices.ts';
import { isRemoteSource } from './sources.ts';

/** The noun for a question, and what to do when there is nothing to pick. */
const nouns: Record<PickedSource, [word: string, remedy: string]> = {
  runs: ['run', 'Start one with `aops runs start`.'],
  agents: ['agent', 'Create one with `aops agents create NAME --procedure FILE`.'],
  queues: ['queue', 'Create one with `aops queues create NAME`.'],
  revisions: ['revision', 'Create an agent with `aops agents create NAME --procedure FILE`.'],
  artifacts: ['artifact', 'Create one with `aops artifacts create`.'],
  connections: ['connection', 'Create one with `aops connections create`.'],
  webhooks: ['webhook', 'Create one with `aops webhooks create`.'],
  cases: ['case', 'Create one with `aops cases create QUEUE`.'],
  tools: ['tool', 'The service offers no tools.'],
  labels: ['label', 'Create one with `aops queues labels create QUEUE`.'],
  schedules: ['schedule', 'Create one with `aops agents schedules create AGENT`.'],
  rubrics: ['rubric', 'Create one with `aops agents rubrics create AGENT`.'],
  memory: ['file', 'The memory of this agent is empty.'],
  profiles: ['profile', 'Sign in with `aops auth login`.'],
};

const adjectives: Record<PickedRuns, string> = { waiting: 'waiting ', active: 'active ' };

/** Whether the user can pick a missing value here. */
export const canPick = (context: Context, source: CompletionSource | undefined): source is PickedSource =>
  (isRemoteSource(source) || source === 'profiles' || source === 'cases') && context.terminal.interactive && forPeople(context);

/**
 * Lets the user pick the value of an argument or an option.
 * @param owner the agent or queue that was named before, for values that belong to one
 * @throws AopsError exit 3 when there is nothing to pick, exit 2 when the user picks nothing
 */
export async function pick(
  context: Context,
  command: AnyCommand,
  { complete, pick: settings }: Pick<Argument & Option, 'complete' | 'pick'>,
  owner: string | undefined,
): Promise<string> {
  const runs = settings?.runs;
  const [word, remedy] = nouns[complete as PickedSource];
  const noun = `${runs === undefined ? '' : adjectives[runs]}${word}`;
  const { choicesOf } = await import('./choices.ts');
  // A case belongs to a queue, which its commands do not name.
  const place = complete === 'cases' ? await queueId(context, await pick(context, command, { complete: 'queues' }, undefined)) : owner;
  const choices = await choicesOf(context, complete as PickedSource, { ownerName: place, runs });
  if (choices.length === 0) throw nothingToPick(noun, runs === undefined ? remedy : 'See all runs with `aops runs list`.');
  // Enter alone must not destroy anything.
  const noChoice = { value: '', name: `None of these` };
  const needsCare = command.destructive || settings?.needsCare;
  const question = { message: `Which ${noun}?`, choices: needsCare ? [noChoice, ...choices] : choices };
  const pickedValue = await context.prompter.search(question, { signal: context.signal });
  if (pickedValue === '')
    throw new AopsError(`Nothing was changed, because no ${word} was picked.`, { code: 'not_confirmed', exit: exitCodes.usage });
  return pickedValue;
}

const nothingToPick = (noun: string, hint: string): AopsError =>
  new AopsError(`There are no ${noun}s to pick from.`, { code: 'nothing_to_pick', exit: exitCodes.notFound, hint });
