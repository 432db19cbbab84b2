/** Summaries of runs, requests, and lists, for models that only read text. Pure. */
import { shorten } from '../../base/values.ts';
import type { HumanRequest, Run, RunMessage } from '../../interface/types.ts';

/** A run in one or two lines: its state, and what to do next. */
export function describeRun(run: Run, pending: HumanRequest | null): string {
  const lines = [`Run ${run.id} is ${run.status}.`];
  if (run.error) lines.push(`It failed: ${run.error}`);
  if (pending !== null) lines.push(describeRequest(run.id, pending));
  return lines.join('\n');
}

/** A human request with its questions, and how to answer it. */
export function describeRequest(runId: string, request: HumanRequest): string {
  const lines = [`It is waiting for a person: ${request.title} (human request ${request.id} of run ${runId})`];
  if (request.description) lines.push(request.description);
  for (const { question, options = [], multi_select } of request.questions ?? []) {
    const choices = options.map(({ label }) => `"${label}"`).join(', ');
    lines.push(`- ${question}${choices === '' ? '' : ` (${multi_select ? 'any of' : 'one of'} ${choices})`}`);
  }
  lines.push('Only the user can answer it: call respond_to_human_request, or ask the user to answer.');
  return lines.join('\n');
}

/** A message on one line, shortened if necessary. */
export function describeMessage(message: RunMessage): string {
  const { tool_call: call, tool_result: result } = message;
  const text =
    message.text_content ??
    (call ? `calls ${call.name}` : result ? `result of ${result.tool_call_id}${result.error ? `: ${result.error}` : ''}` : message.type);
  return `${message.role}: ${clip(text)}`;
}

/** The rows of a list below a line with their number. */
export function describeList(noun: string, rows: readonly string[], total: number): string {
  if (rows.length === 0) return total > 0 ? `There are no ${noun} on this page, but ${total} in total.` : `There are no ${noun}.`;
  return [`${rows.length} of ${total} ${noun}:`, ...rows.map((row) => `- ${row}`)].join('\n');
}

const longest = 300;
const clip = (text: string): string => shorten(text.replace(/\s+/g, ' ').trim(), longest);
