/** Answers the questions of a builder run. */

import { AopsError, exitCodes } from '../../base/errors.ts';
import { shellQuoted } from '../../base/shell.ts';
import { requestLine } from '../../cli/following/requests.ts';
import type { Requester } from '../../cli/following/responder.ts';
import type { CallOptions, Client } from '../../client/client.ts';
import { NotOfferedError } from '../../client/errors.ts';
import type { HumanRequest, ReviewedBuilderRun } from '../../interface/types.ts';
import type { Answer } from '../../watch/answers.ts';
import type { BuilderRunIds } from '../../watch/watch-builder-run.ts';

/** Sends answers. @throws AopsError `not_offered` (exit 3) when the service does not accept answers */
export async function sendAnswers(
  client: Client,
  builderRunId: string,
  request: HumanRequest,
  answer: Answer,
  options: CallOptions = {},
): Promise<ReviewedBuilderRun> {
  try {
    return (await client.call('answerBuilderRun', answerInput(builderRunId, request, answer), options)).builder_run;
  } catch (error) {
    if (!(error instanceof NotOfferedError)) throw error;
    // The builder run was read a moment ago, so it is the operation that is missing.
    throw new AopsError('This service cannot receive answers to builder runs, because the interface has no operation for them.', {
      code: 'not_offered',
      exit: exitCodes.notFound,
      hint: 'Discard the builder run and rephrase the request.',
      details: error.details,
    });
  }
}

/** The input of `answerBuilderRun`. */
const answerInput = (builderRunId: string, request: HumanRequest, answer: Answer) => ({
  params: { builder_run_id: builderRunId },
  body: { answers: 'answers' in answer ? answer.answers : {}, request_id: request.id },
});

/** Sends the answers to the questions of a builder run. */
export const builderRequester = (client: Client, ids: BuilderRunIds): Requester => ({
  sender: (request, answer) => {
    const keys = client.keysFor('answerBuilderRun', answerInput(ids.builderRunId, request, answer));
    return () => sendAnswers(client, ids.builderRunId, request, answer, { keys });
  },
  waitingError: (request) => waitingForAnswers(ids.buildId, request),
});

/** The error for a question that cannot be answered here: exit 12. */
export function waitingForAnswers(buildId: string, request: HumanRequest): AopsError {
  const flags = (request.questions ?? []).map(
    ({ question, options }) => `--answer ${shellQuoted(`${question}=${options?.[0]?.label ?? 'ANSWER'}`)}`,
  );
  return new AopsError(`The builder run asks: ${requestLine(request)}`, {
    code: 'builder_run_waiting_for_input',
    exit: exitCodes.runWaiting,
    hint: `Answer with \`aops revisions respond ${buildId} ${flags.join(' ')}\`, then continue with \`aops revisions watch ${buildId}\`.`,
  });
}
