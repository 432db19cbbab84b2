/** Describes human requests and sends answers to them. */
import { shellQuoted } from '../../base/shell.ts';
import type { CallOptions, Client } from '../../client/client.ts';
import type { HumanRequest } from '../../interface/types.ts';
import type { Answer } from '../../watch/answers.ts';

/** A request on a few lines: its title, then its questions with their options. */
export function describeRequest(request: HumanRequest): string {
  const lines = [request.title];
  if (request.description) lines.push(request.description);
  for (const { question, options = [], multi_select } of request.questions ?? []) {
    if (question !== request.title) lines.push(question);
    if (options.length > 0) lines.push(`${multi_select ? 'any of' : 'one of'}: ${options.map(({ label }) => label).join(' | ')}`);
  }
  return lines.join('\n');
}

/** A request on one line, for an error: without its description, which may be long and formatted. */
export const requestLine = (request: HumanRequest): string =>
  describeRequest({ ...request, description: null })
    .split('\n')
    .join(' / ');

/**
 * The command that answers a request, ready to be completed and pasted.
 * @param run the number or the ID of the run
 */
export function respondCommand(run: string, request: HumanRequest): string {
  const flags =
    request.type === 'approval'
      ? '--approve'
      : (request.questions ?? [])
          .map(({ question, options }) => `--answer ${shellQuoted(`${question}=${options?.[0]?.label ?? 'ANSWER'}`)}`)
          .join(' ');
  return `aops runs respond ${run} ${flags}`;
}

/** The commands to choose from to answer a request, in backquotes; without the request, also the command that shows it. */
export function respondCommands(run: string, request: HumanRequest | undefined): string {
  if (request === undefined) return `\`aops runs respond\`; see what it asks with \`aops runs get ${run}\``;
  if (request.type !== 'approval') return `\`${respondCommand(run, request)}\``;
  return `\`aops runs respond ${run} --approve\` or \`aops runs respond ${run} --deny --reason TEXT\``;
}

/** Sends an answer. @param keys those of an earlier attempt */
export const sendAnswer = (client: Client, runId: string, requestId: string, answer: Answer, { keys }: CallOptions = {}) =>
  client.call('respondToHumanRequest', answerInput(runId, requestId, answer), keys === undefined ? {} : { keys });

/** The input of `respondToHumanRequest`. */
export const answerInput = (runId: string, requestId: string, answer: Answer) => ({
  params: { run_id: runId, request_id: requestId },
  body: answer,
});
