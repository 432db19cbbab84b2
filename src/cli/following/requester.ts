/** The requester for the human requests of a run. */
import type { Client } from '../../client/client.ts';
import type { NamedRun } from '../names/run-names.ts';
import { answerInput, sendAnswer } from './requests.ts';
import type { Requester } from './responder.ts';
import { waitingError } from './run-outcome.ts';

/** @param run the run as named in messages; see `runForHere` */
export const runRequester = (client: Client, runId: string, run: NamedRun): Requester => ({
  sender: (request, answer) => {
    const keys = client.keysFor('respondToHumanRequest', answerInput(runId, request.id, answer));
    return () => sendAnswer(client, runId, request.id, answer, { keys });
  },
  waitingError: (request) => waitingError(run, request),
});
