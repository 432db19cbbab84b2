/**
 * The messages of a run as lines for people. A tool call and its result are combined into one line, so a finished call
 * never needs redrawing; `activity` describes calls in progress for the live status line.
 */
import { pluralize } from '../../base/pluralize.ts';
import { isObject } from '../../base/values.ts';
import type { RunMessage } from '../../interface/types.ts';
import { renderPatch } from '../../terminal/diff.ts';
import { sanitize, sanitizeLine } from '../../terminal/sanitize.ts';
import type { Styles } from '../../terminal/style.ts';

type ToolCall = NonNullable<RunMessage['tool_call']>;
type ToolResult = NonNullable<RunMessage['tool_result']>;

/** Wraps text between words; passed by the caller, which knows whether a terminal needs it. */
export type Wrap = (text: string) => string;

/** How many lines of diffs a tool call adds to a transcript. */
const maxDiffLines = 200;

/** Maximum length of a one-line summary if the width is not known. */
const summaryWidth = 100;

export class Transcript {
  readonly #styles: Styles;
  readonly #width: number;
  readonly #wrap: Wrap;
  readonly #open = new Map<string, ToolCall>();

  /** @param width columns of the terminal, to which lines of tool calls are truncated */
  constructor(styles: Styles, width: number, wrap: Wrap = (text) => text) {
    this.#styles = styles;
    this.#width = width;
    this.#wrap = wrap;
  }

  /** The current tool call of the run, if any. */
  get activity(): string | undefined {
    const call = [...this.#open.values()].at(-1);
    return call && callSummary(call);
  }

  /** The lines that a message adds to the transcript; none for a tool call, which waits for its result. */
  lines(message: RunMessage): string[] {
    if (message.tool_call) {
      this.#open.set(message.tool_call.id, message.tool_call);
      return [];
    }
    if (message.tool_result) return [this.#toolLine(message.tool_result), ...this.#diffLines(message.tool_result)];
    return this.#textLines(message);
  }

  /** Lines for calls without a result. */
  unfinishedCalls(): string[] {
    const lines = [...this.#open.values()].map((call) => this.#styles.dim(truncate(`- ${callSummary(call)}`, this.#width)));
    this.#open.clear();
    return lines;
  }

  #toolLine(result: ToolResult): string {
    const call = this.#open.get(result.tool_call_id);
    this.#open.delete(result.tool_call_id);
    const { error, dim, success } = this.#styles;
    const sign = result.error === undefined ? success('✓') : error('✗');
    const outcome = resultSummary(result);
    const body = `${call ? callSummary(call) : 'tool'}${outcome === '' ? '' : `  → ${outcome}`}`;
    return `${sign} ${dim(truncate(body, this.#width - 2))}`;
  }

  /** The changes of files that a tool reports, indented. */
  #diffLines({ result }: ToolResult): string[] {
    const lines = diffsOf(result).flatMap(({ diff }) => renderPatch(diff, { styles: this.#styles }).trimEnd().split('\n'));
    const excess = lines.length - maxDiffLines;
    if (excess <= 1) return lines.map((line) => `  ${line}`);
    const rest = this.#styles.dim(`… ${excess} more lines`);
    return [...lines.slice(0, maxDiffLines), rest].map((line) => `  ${line}`);
  }

  #textLines(message: RunMessage): string[] {
    const text = this.#wrap(sanitize(message.text_content ?? '')).split('\n');
    const { accent, dim, warning } = this.#styles;
    if (message.type === 'thought') return text.map((line, index) => dim(`${index === 0 ? 'thought:' : '        '} ${line}`));
    if (message.type === 'plan') return [dim('plan:'), ...text.map((line) => `  ${planLine(line, this.#styles)}`)];
    if (message.type === 'notice') return text.map((line, index) => `${index === 0 ? warning('!') : ' '} ${line}`);
    if (message.type === 'human_response') return text.map((line, index) => `${index === 0 ? accent('›') : ' '} ${line}`);
    if (message.role === 'user') return text.map((line, index) => (index === 0 ? `${dim('you:')} ${line}` : `     ${line}`));
    return text;
  }
}

/** A message on one line, for tables. */
export function messageSummary(message: RunMessage): string {
  if (message.tool_call) return callSummary(message.tool_call);
  if (message.tool_result) return `→ ${resultSummary(message.tool_result) || 'done'}`;
  const text = message.text_content ?? '';
  return message.type === 'thought' || message.type === 'plan' || message.type === 'notice' ? `${message.type}: ${text}` : text;
}

/** An entry of a plan, whose status is in brackets: `[x]` for completed, `[>]` for in progress. */
function planLine(line: string, { accent, dim }: Styles): string {
  if (line.startsWith('[x] ')) return dim(line);
  return line.startsWith('[>] ') ? accent(line) : line;
}

interface FileDiff {
  path: string;
  diff: string;
}

/** The changes of files in the result of a tool of an agent; anything that is not one is left out. */
function diffsOf(result: unknown): FileDiff[] {
  const { diffs } = (isObject(result) ? result : {}) as { diffs?: unknown };
  if (!Array.isArray(diffs)) return [];
  return diffs.filter((each): each is FileDiff => isObject(each) && typeof each.path === 'string' && typeof each.diff === 'string');
}

/** `exec  wc -l < in.csv`: the name, and the most informative argument. */
export function callSummary({ name, arguments: args = {} }: Pick<ToolCall, 'name' | 'arguments'>): string {
  const main = args.command ?? args.run ?? args.path ?? args.file_path ?? args.url ?? args.title;
  const argumentText = typeof main === 'string' ? main : Object.keys(args).length > 0 ? JSON.stringify(args) : '';
  return truncate(sanitizeLine(argumentText === '' ? name : `${name}  ${firstLine(argumentText)}`), summaryWidth);
}

/** The outcome of a call on one line: its error, or the most informative part of its result. */
export function resultSummary({ result, error }: Pick<ToolResult, 'result' | 'error'>): string {
  if (error !== undefined) return truncate(sanitizeLine(firstProse(error)), summaryWidth);
  if (result === undefined || result === null) return '';
  if (typeof result !== 'object') return truncate(sanitizeLine(firstLine(String(result))), summaryWidth);
  const { stdout, exit_code, size, ...otherFields } = result as Record<string, unknown>;
  const diffs = diffsOf(result);
  if (diffs.length > 0) return truncate(sanitizeLine(diffs.map(({ path }) => path).join(', ')), summaryWidth);
  if (typeof exit_code === 'number')
    return truncate(
      sanitizeLine([exit_code === 0 ? '' : `exit ${exit_code}`, firstLine(String(stdout ?? ''))].filter(Boolean).join(', ')),
      summaryWidth,
    );
  if (typeof size === 'number') return pluralize(size, 'byte');
  const { text, ...furtherFields } = otherFields;
  if (Object.keys(furtherFields).length > 0) return truncate(sanitizeLine(JSON.stringify(otherFields)), summaryWidth);
  return typeof text === 'string' ? truncate(sanitizeLine(firstProse(text)), summaryWidth) : '';
}

/** The first line of a text that is neither empty nor a fence of Markdown, in which some agents put the output of commands. */
const firstProse = (text: string): string => text.split('\n').find((line) => !/^\s*(```.*)?$/.test(line)) ?? '';

const firstLine = (text: string): string => text.trimEnd().split('\n')[0] ?? '';

const truncate = (text: string, width: number): string => (text.length <= width ? text : `${text.slice(0, Math.max(1, width - 1))}…`);
