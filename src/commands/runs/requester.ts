/** A run as the one whose human requests are answered. */
import type { Client } from '../../client/client.ts';
import type { Requester } from '../following/responder.ts';
import { waitingError } from './outcome.ts';
import { sendAnswer } from './requests.ts';

export const runRequester = (client: Client, runId: string): Requester => ({
  send: (request, answer) => sendAnswer(client, runId, request.id, answer),
  waiting: (request) => waitingError(runId, request),
});
