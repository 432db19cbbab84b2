/**
 * The timeline of a run: its messages, with each tool call and its result combined, and with its human requests. Entries are produced
 * while messages are read, in the order in which they began, and only those that wait for the result of a call are in memory.
 */
import { isObject } from '../../base/values.ts';
import type { RecordedHumanRequest, RunMessage } from '../../interface/types.ts';

export interface TextEntry {
  kind: 'message' | 'thought' | 'plan' | 'notice' | 'answer';
  at: string;
  by: 'person' | 'agent' | 'system';
  text: string;
}

export interface FileDiff {
  path: string;
  diff: string;
}

export interface ToolEntry {
  kind: 'tool';
  at: string;
  /** When the result arrived; null without one. */
  ended_at: string | null;
  /** `unfinished` means that the run ended, or that the record was made, before the call returned. */
  status: 'done' | 'failed' | 'unfinished';
  name: string;
  /** Absent for a result that arrived long after its call, which is an entry of its own. */
  arguments?: unknown;
  /** The result without its diffs. */
  result?: unknown;
  error?: string;
  diffs: FileDiff[];
}

/** A human request, where it was made. Its answer is part of it. */
export interface RequestEntry {
  kind: 'request';
  at: string;
  request: RecordedHumanRequest;
}

export type Entry = TextEntry | ToolEntry | RequestEntry;

/** Calls whose result takes longer than this many entries, or characters, become entries without it. */
const maxHeldEntries = 500;
const maxHeldCharacters = 8_000_000;

/** @param requests the human requests of the run, oldest first; undefined if the service does not list them */
export async function* timelineEntries(
  messages: AsyncIterable<RunMessage>,
  requests: readonly RecordedHumanRequest[] | undefined,
): AsyncGenerator<Entry, void, undefined> {
  const pairing = new Pairing();
  const remainingRequests = [...(requests ?? [])];
  // An answer is recorded in the same moment as its message.
  const answerTimes = new Set((requests ?? []).map(({ responded_at }) => responded_at));
  for await (const message of messages) {
    while (remainingRequests[0] !== undefined && Date.parse(remainingRequests[0].created_at) < Date.parse(message.timestamp))
      yield* pairing.add(requestEntry(remainingRequests.shift() as RecordedHumanRequest), 0);
    const isShownWithRequest = message.type === 'human_response' && answerTimes.has(message.timestamp);
    if (!isShownWithRequest) yield* pairing.message(message);
  }
  for (const request of remainingRequests) yield* pairing.add(requestEntry(request), 0);
  yield* pairing.end();
}

const requestEntry = (request: RecordedHumanRequest): RequestEntry => ({ kind: 'request', at: request.created_at, request });

interface HeldEntry {
  entry: Entry;
  size: number;
  isComplete: boolean;
}

/** Entries in order, held back until the results of all calls before them have arrived. */
class Pairing {
  readonly #queue: HeldEntry[] = [];
  readonly #calls = new Map<string, HeldEntry>();
  /** Names of calls that were released without a result. */
  readonly #lateCalls = new Map<string, string>();
  #heldCharacters = 0;

  message(message: RunMessage): Entry[] {
    const size = JSON.stringify(message).length;
    const { tool_call: call, tool_result: result, timestamp: at } = message;
    if (call !== undefined) {
      const entry: ToolEntry = {
        kind: 'tool',
        at,
        ended_at: null,
        status: 'unfinished',
        name: call.name,
        ...(call.arguments === undefined ? {} : { arguments: call.arguments }),
        diffs: [],
      };
      const held = { entry, size, isComplete: false };
      this.#calls.set(call.id, held);
      return this.#hold(held);
    }
    if (result === undefined) return this.add(textEntry(message), size);
    const held = this.#calls.get(result.tool_call_id);
    if (held === undefined) {
      const name = this.#lateCalls.get(result.tool_call_id) ?? 'tool';
      this.#lateCalls.delete(result.tool_call_id);
      return this.add({ kind: 'tool', at, name, ...outcomeOf(result, at) }, size);
    }
    this.#calls.delete(result.tool_call_id);
    Object.assign(held.entry, outcomeOf(result, at));
    held.isComplete = true;
    held.size += size;
    this.#heldCharacters += size;
    return this.#release();
  }

  /** Adds an entry that is complete. */
  add(entry: Entry, size: number): Entry[] {
    return this.#hold({ entry, size, isComplete: true });
  }

  end(): Entry[] {
    return this.#queue.splice(0).map(({ entry }) => entry);
  }

  #hold(held: HeldEntry): Entry[] {
    this.#queue.push(held);
    this.#heldCharacters += held.size;
    return this.#release();
  }

  #release(): Entry[] {
    let count = 0;
    const isFull = (): boolean => this.#queue.length - count > maxHeldEntries || this.#heldCharacters > maxHeldCharacters;
    for (const held of this.#queue) {
      if (!held.isComplete && !isFull()) break;
      if (!held.isComplete) this.#forgetCall(held);
      this.#heldCharacters -= held.size;
      count += 1;
    }
    return this.#queue.splice(0, count).map(({ entry }) => entry);
  }

  #forgetCall(held: HeldEntry): void {
    for (const [id, call] of this.#calls) {
      if (call !== held) continue;
      this.#calls.delete(id);
      this.#lateCalls.set(id, (held.entry as ToolEntry).name);
    }
  }
}

function outcomeOf({ result, error }: NonNullable<RunMessage['tool_result']>, at: string) {
  const { diffs, rest } = splitDiffs(result);
  return {
    ended_at: at,
    status: error === undefined ? ('done' as const) : ('failed' as const),
    ...(rest === undefined ? {} : { result: rest }),
    ...(error === undefined ? {} : { error }),
    diffs,
  };
}

/** The changes of files that a tool reports, and the rest of its result; anything that is not a diff stays in the result. */
export function splitDiffs(result: unknown): { diffs: FileDiff[]; rest: unknown } {
  if (!isObject(result) || !Array.isArray(result.diffs)) return { diffs: [], rest: result };
  const isDiff = (each: unknown): each is FileDiff => isObject(each) && typeof each.path === 'string' && typeof each.diff === 'string';
  const { diffs, ...fields } = result;
  const otherDiffs = (diffs as unknown[]).filter((each) => !isDiff(each));
  const rest = otherDiffs.length > 0 ? { ...fields, diffs: otherDiffs } : Object.keys(fields).length > 0 ? fields : undefined;
  return { diffs: (diffs as unknown[]).filter(isDiff).map(({ path, diff }) => ({ path, diff })), rest };
}

function textEntry({ type, role, timestamp: at, text_content }: RunMessage): TextEntry {
  const text = text_content ?? `(${type})`;
  if (type === 'thought' || type === 'plan' || type === 'notice')
    return { kind: type, at, by: role === 'system' ? 'system' : 'agent', text };
  if (type === 'human_response') return { kind: 'answer', at, by: 'person', text };
  return { kind: 'message', at, by: role === 'user' ? 'person' : role === 'system' ? 'system' : 'agent', text };
}
