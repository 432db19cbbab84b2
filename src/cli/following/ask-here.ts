/** Lets the person at this terminal answer the request of a run, and reports the result. */
import { AopsError, exitCodes } from '../../base/errors.ts';
import type { Client } from '../../client/client.ts';
import type { HumanRequest, Run } from '../../interface/types.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';
import type { Context } from '../kit/context.ts';
import { runForHere, runWord } from '../names/run-names.ts';
import { answerHere } from './answer-here.ts';
import { recentSteps } from './recent-steps.ts';

/** Prompts for the answer and reports the result. @throws AopsError exit 6 when the request was resolved in the meantime */
export async function askHere(context: Context, client: Client, run: Run, request: HumanRequest): Promise<void> {
  const requestedRun = runForHere(context, run);
  const steps = await recentSteps(context, client, run.id);
  if (steps.length > 0) context.terminal.note(steps.join('\n'));
  const outcome = await answerHere(context, client, run.id, request);
  if (outcome === 'gone')
    throw new AopsError('The request is no longer pending: someone else answered it, or the run was stopped.', {
      code: 'run_not_waiting',
      exit: exitCodes.conflict,
      hint: `See the result with \`aops runs watch ${runWord(requestedRun)}\`.`,
    });
  const done = outcome === 'answered' ? `Answered: ${request.title}` : `Left pending: ${request.title}`;
  const next = outcome === 'answered' ? 'Watch the run' : 'Answer it later';
  const command = outcome === 'answered' ? 'watch' : 'respond';
  context.terminal.note(sanitizeLine(done));
  context.terminal.advise(`${next} with: aops runs ${command} ${runWord(requestedRun)}`);
}
