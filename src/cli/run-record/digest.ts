/** What a run did, step by step and summarised: its calls of tools and its human requests, each on one line. */
import { crypto } from '../../base/crypto.ts';
import { shorten } from '../../base/values.ts';
import type { RecordedHumanRequest, RunMessage } from '../../interface/types.ts';
import { callSummary, resultSummary } from '../records/transcript.ts';
import { type Entry, type ToolEntry, timelineEntries } from './timeline.ts';

export interface Step {
  /** From 1, in the order in which the steps began. */
  number: number;
  kind: 'tool' | 'request';
  at: string;
  /** The call or the request on one line. */
  title: string;
  status: 'done' | 'failed' | 'unfinished' | 'pending' | 'answered' | 'withdrawn';
  /** The error, the result, or the answer, on one line. */
  outcome: string;
}

/** A step with what identifies it: equal calls of a tool have the same key. */
export interface ComparableStep extends Step {
  key: string;
  outcomeKey: string;
}

export interface RunDigest {
  steps: ComparableStep[];
  /** The message with which the run was started. */
  firstMessage: string | null;
  /** The last text of the agent. */
  lastText: string | null;
  /** The last things that the service noted about the run, such as a new session of its agent, each on one line. */
  notices: string[];
}

const maxNotices = 3;

export async function digestOf(
  messages: AsyncIterable<RunMessage>,
  requests: readonly RecordedHumanRequest[] | undefined,
): Promise<RunDigest> {
  const digest: RunDigest = { steps: [], firstMessage: null, lastText: null, notices: [] };
  for await (const entry of timelineEntries(messages, requests)) {
    if (entry.kind === 'message' && entry.by === 'person') digest.firstMessage ??= entry.text;
    if (entry.kind === 'message' && entry.by === 'agent') digest.lastText = entry.text;
    if (entry.kind === 'notice') digest.notices = [...digest.notices, oneLine(entry.text)].slice(-maxNotices);
    const step = stepOf(entry);
    if (step !== undefined) digest.steps.push({ number: digest.steps.length + 1, ...step });
  }
  return digest;
}

function stepOf(entry: Entry): Omit<ComparableStep, 'number'> | undefined {
  if (entry.kind === 'tool') return toolStep(entry);
  if (entry.kind !== 'request') return undefined;
  const { title, description, questions, status, response, type } = entry.request;
  const outcome = response ?? '';
  return {
    kind: 'request',
    at: entry.at,
    title: `${type}  ${oneLine(title)}`,
    status,
    outcome: oneLine(outcome),
    key: keyOf(['request', type, title, description, questions]),
    outcomeKey: keyOf([status, outcome]),
  };
}

function toolStep({ name, at, status, arguments: args, result, error, diffs }: ToolEntry): Omit<ComparableStep, 'number'> {
  return {
    kind: 'tool',
    at,
    title: callSummary({ name, ...(args === undefined ? {} : { arguments: args as Record<string, unknown> }) }),
    status,
    outcome:
      status === 'unfinished' ? '' : resultSummary(error === undefined ? { result: diffs.length > 0 ? { diffs } : result } : { error }),
    key: keyOf(['tool', name, args]),
    outcomeKey: keyOf([status, result, error, diffs]),
  };
}

const keyOf = (value: unknown): string => crypto().createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, 22);
/** Characters of a request or an answer on one line. */
const maxOutcomeLength = 100;
export const oneLine = (text: string): string => shorten(text.replaceAll(/\s+/g, ' ').trim(), maxOutcomeLength);
