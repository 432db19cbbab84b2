/**
 * An export as Markdown, piece by piece. Texts are in fences, longer than any fence inside of them, and in code spans, so that nothing in
 * them is formatted or loaded.
 */
import { escapeHtml } from '../../../base/html.ts';
import { pluralize } from '../../../base/pluralize.ts';
import { sanitize } from '../../../base/sanitize.ts';
import { callSummary, resultSummary } from '../../../cli/records/transcript.ts';
import type { Entry, RequestEntry, ToolEntry } from '../../../cli/run-record/timeline.ts';
import { formatSize } from '../../../terminal/size.ts';
import { between } from '../page-parts.ts';
import { actionText, errorOf } from '../shots.ts';
import type { ExportContent } from './content.ts';
import { answerText, costText, entryTitle, factsOf, partsOf, requestState, timeText } from './words.ts';

export async function* markdownExport(content: ExportContent): AsyncGenerator<string, void, undefined> {
  const { head, changes, files, redaction } = content;
  const { run } = head;
  const name = run.number === null ? run.id : `#${run.number}`;
  const times: [string, string | null][] = [
    ['Created', run.created_at],
    ['Started', run.started_at],
    ['Ended', run.completed_at],
  ];
  const facts: [string, string | undefined][] = [
    ['Status', run.status],
    ...times.map(([label, time]): [string, string | undefined] => [label, time === null ? undefined : timeText(time)]),
    ['Duration', between(run.started_at, run.completed_at)],
    ...factsOf(head),
    ['Cost', costText(head)],
    ['ID', run.id],
  ];
  yield `# Run ${name}\n\n`;
  if (run.title !== null) yield `${codeSpan(run.title)}\n\n`;
  for (const [label, text] of facts) if (text !== undefined) yield `- **${label}:** ${codeSpan(text)}\n`;
  if (run.error !== null) yield `\n**Error:**\n\n${fenced(run.error)}`;
  if (head.pending_request !== null) yield `\n**Waiting for an answer:**\n\n${fenced(head.pending_request.title)}`;
  yield '\n## Timeline\n';
  let number = 0;
  for await (const entry of content.timeline()) {
    number += 1;
    yield `\n${entryText(entry)}`;
  }
  if (number === 0) yield '\nThere are no messages.\n';
  if (changes !== undefined) {
    yield `\n## Changes in the repository\n\n${pluralize(changes.totalFiles, 'file')} changed.\n`;
    for (const { path, shown } of changes.diffs ?? []) yield `\n${codeSpan(path)}\n\n${fenced(shown, 'diff')}`;
  }
  if (content.shotCount > 0) {
    yield '\n## Screenshots\n\nThe pictures are part of the HTML form of this record.\n\n';
    for await (const { shot } of content.screenshots()) {
      const error = errorOf(shot);
      yield `${shot.number}. ${codeSpan(actionText(shot))}${error === undefined ? '' : `, failed: ${codeSpan(error)}`}\n`;
    }
  }
  if (files.length > 0) {
    yield '\n## Files in the sandbox\n\n';
    for (const { path, size, sha256 } of files)
      yield `- ${codeSpan(path)}, ${formatSize(size)}, SHA-256 ${codeSpan(sha256 ?? 'not read')}\n`;
  }
  if (head.revision !== null && head.revision.procedure !== '') yield `\n## Procedure\n\n${fenced(head.revision.procedure)}`;
  yield '\n## Left out\n\n';
  const leftOut = content.leftOut();
  yield leftOut.length === 0 ? 'Nothing was left out.\n' : leftOut.map((sentence) => `- ${codeSpan(sentence)}\n`).join('');
  yield '\n## Redactions\n\n';
  const { list } = redaction;
  yield list.length === 0
    ? 'No secrets were found.\n'
    : list.map(({ kind, place, count }) => `- ${codeSpan(kind)} in ${place}: ${pluralize(count, 'time')}\n`).join('');
  yield `\n---\n\nCreated by ${content.creator} on ${timeText(content.exportedAt)}. Times are in UTC.\n`;
}

function entryText(entry: Entry): string {
  if (entry.kind === 'tool') return toolText(entry);
  if (entry.kind === 'request') return requestText(entry);
  return `**${entryTitle(entry)}** · ${timeText(entry.at)}\n\n${fenced(entry.text)}`;
}

const signs = { done: '✓', failed: '✗', unfinished: '…' };

function toolText(entry: ToolEntry): string {
  const args = entry.arguments as Record<string, unknown> | undefined;
  const call = callSummary({ name: entry.name, ...(args === undefined ? {} : { arguments: args }) });
  const outcome = resultSummary(entry.error === undefined ? { result: entry.result } : { error: entry.error });
  // In a line of HTML, nothing is formatted as Markdown.
  const summary = `${signs[entry.status]} <code>${inHtml(call)}</code>${outcome === '' ? '' : ` → ${inHtml(outcome)}`} · ${timeText(entry.at)}`;
  const parts = [...partsOf('Arguments', entry.arguments), ...partsOf('Result', entry.result), ...partsOf('Error', entry.error)];
  const body = parts.map(([title, text]) => `${title}:\n\n${fenced(text)}\n`).join('');
  const diffs = entry.diffs.map(({ path, diff }) => `\n${codeSpan(path)}\n\n${fenced(diff, 'diff')}`).join('');
  return `<details><summary>${summary}</summary>\n\n${body}</details>\n${diffs}`;
}

const inHtml = (text: string): string => escapeHtml(text).replaceAll('\n', ' ');

function requestText({ request, at }: RequestEntry): string {
  const lines = (request.questions ?? []).flatMap(({ question, options = [] }) => [
    ...(question === request.title ? [] : [question]),
    ...options.map(({ label }) => `- ${label}`),
  ]);
  const text = [request.title, ...(request.description ? [request.description] : []), ...lines].join('\n');
  const response = request.response === null ? '' : `\n${fenced(request.response)}`;
  const state = `${requestState(request)} ${answerText(request) === '' ? '' : codeSpan(answerText(request))}`.trim();
  return `**${request.type === 'approval' ? 'Approval requested' : 'Question'}** · ${timeText(at)}\n\n${fenced(text)}\n${state}\n${response}`;
}

/** A block in which nothing is formatted. */
export function fenced(text: string, language = 'text'): string {
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(Math.max(3, longest + 1));
  const lines = sanitize(text).replace(/\n$/, '');
  return `${fence}${language}\n${lines}\n${fence}\n`;
}

/** Text on one line in which nothing is formatted (CommonMark 6.1). */
export function codeSpan(text: string): string {
  const line = sanitize(text).replaceAll(/\s+/g, ' ').trim();
  if (line === '') return '';
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const ticks = '`'.repeat(longest + 1);
  const pad = line.startsWith('`') || line.endsWith('`') ? ' ' : '';
  return `${ticks}${pad}${line}${pad}${ticks}`;
}
