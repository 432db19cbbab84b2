/**
 * A human request as a form of the Model Context Protocol (`elicitation/create`, protocol 2025-06-18 and later), which the client shows
 * to its user. The answer is that of the form: what the model proposed is ignored. Pure.
 */
import { sanitize } from '../../base/sanitize.ts';
import { isObject, type JsonObject, shorten } from '../../base/values.ts';
import type { HumanRequest } from '../../interface/types.ts';

/** The body of an answer. */
export type RequestAnswer = { approved: boolean; reason?: string } | { answers: Record<string, string> };

/** Whether a client that sent this `initialize` request can show forms. */
export function canElicit(initializeParams: unknown): boolean {
  const capabilities = isObject(initializeParams) ? initializeParams.capabilities : undefined;
  const elicitation = isObject(capabilities) ? capabilities.elicitation : undefined;
  // An empty object means forms; otherwise each mode is declared.
  return isObject(elicitation) && (Object.keys(elicitation).length === 0 || isObject(elicitation.form));
}

const maxTextLength = 4_000;
const plain = (text: string): string => shorten(sanitize(text), maxTextLength);
const plainLine = (text: string): string => plain(text).replaceAll(/\s+/g, ' ').trim();

/** The parameters of the form. Nothing in it is preselected. */
export function requestForm(runId: string, request: HumanRequest): JsonObject {
  const { title, description } = request;
  const message = [
    `Run ${runId} asks: ${plainLine(title)}`,
    ...(description === null ? [] : [plain(description)]),
    'Only you can decide this; the assistant cannot.',
  ].join('\n\n');
  return { mode: 'form', message, requestedSchema: request.type === 'approval' ? approvalForm : questionForm(request) };
}

const approvalForm = {
  type: 'object',
  properties: {
    decision: { type: 'string', title: 'Decision', enum: ['approve', 'deny'], enumNames: ['Approve', 'Deny'] },
    reason: { type: 'string', title: 'Reason for denying', description: 'Optional; the run reads it.', maxLength: 2_000 },
  },
  required: ['decision'],
};

const questionsOf = ({ questions = [] }: HumanRequest) => questions.map((question, index) => ({ key: `answer_${index + 1}`, ...question }));

function questionForm(request: HumanRequest): JsonObject {
  const questions = questionsOf(request);
  const properties = questions.map(({ key, question, header, options, multi_select }) => {
    const labels = options?.map(({ label }) => label) ?? [];
    const details = options?.filter((option) => option.description !== undefined).map((option) => `${option.label}: ${option.description}`);
    const several = multi_select === true && labels.length > 0 ? `One or several, separated by commas: ${labels.join(', ')}` : undefined;
    const description = [question, several, ...(details ?? [])]
      .filter((part) => part !== undefined)
      .map(plain)
      .join('\n');
    const choice = labels.length > 0 && several === undefined ? { enum: labels } : {};
    return [key, { type: 'string', title: plainLine(header ?? question), description, minLength: 1, ...choice }];
  });
  return { type: 'object', properties: Object.fromEntries(properties) as JsonObject, required: questions.map(({ key }) => key) };
}

/** The answer in a client's response to the form; undefined if its user declined, closed the form, or did not fill it in. */
export function formAnswer(request: HumanRequest, response: unknown): RequestAnswer | undefined {
  if (!isObject(response) || response.action !== 'accept' || !isObject(response.content)) return undefined;
  const { content } = response;
  if (request.type === 'approval') {
    const { decision, reason } = content;
    if (decision === 'approve') return { approved: true };
    if (decision !== 'deny') return undefined;
    return { approved: false, ...(typeof reason === 'string' && reason.trim() !== '' ? { reason } : {}) };
  }
  const answers = questionsOf(request).map(({ key, question }): [string, unknown] => [question, content[key]]);
  if (answers.length === 0 || answers.some(([, answer]) => typeof answer !== 'string' || answer.trim() === '')) return undefined;
  return { answers: Object.fromEntries(answers) as Record<string, string> };
}
