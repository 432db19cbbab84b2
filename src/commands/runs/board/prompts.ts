/** What a person does with a run of the board at a prompt, which is on the normal screen, where it stays readable. */
import { answerHere, requestOf } from '../../../cli/following/answer-here.ts';
import type { Context } from '../../../cli/kit/context.ts';
import type { Client } from '../../../client/client.ts';
import { sanitizeLine } from '../../../terminal/sanitize.ts';
import type { WatchedRun } from '../../../watch/many/watched-run.ts';
import type { BoardRow } from './model.ts';

interface PromptParts {
  context: Context;
  client: Client;
  run: WatchedRun;
  row: BoardRow | undefined;
  /** Returns to the normal screen. */
  leaveScreen: () => void;
  /** Withdraws the prompt when it is aborted. */
  end: AbortSignal;
}

/** Prompts for the answer to the request of a run. Resolves to a sentence about what has happened. @throws like `answerHere` */
export async function answerRun({ context, client, run, row, leaveScreen, end }: PromptParts): Promise<string> {
  const request = await requestOf(client, run.id);
  if (request === null) return `${row?.name} is not waiting for an answer.`;
  leaveScreen();
  context.terminal.note(sanitizeLine(`${row?.name}  ${row?.agent}: ${row?.title}`));
  const outcome = await answerHere(context, client, run.id, request, end);
  const words = { answered: 'Answered', left: 'Left pending', gone: 'No longer pending' };
  return `${words[outcome]}: ${request.title}`;
}

/** Stops a run after a confirmation. Resolves to a sentence about what has happened. @throws AopsError, PromptCancelled, or the reason of `end` */
export async function stopRun({ context, client, run, row, leaveScreen, end }: PromptParts): Promise<string> {
  if (run.isOver) return `${row?.name} has already ended.`;
  leaveScreen();
  const message = `Stop ${row?.name} (${row?.agent}: ${row?.title})?`;
  if (!(await context.prompter.confirm({ message, initial: false }, { signal: end }))) return `${row?.name} was not stopped.`;
  const { message: answer } = await client.call('stopRun', { params: { run_id: run.id } });
  return `${row?.name}: ${answer ?? 'stopped'}`;
}
