/**
 * Turns the updates of a session into events of a run. Agents send text in fragments and describe a tool call bit by bit, in
 * any order: some send `tool_call` first, some only the request for permission (Gemini), some only updates. So a tool
 * call is held back until it is complete enough to be shown. Pure: the same updates always become the same
 * events.
 */
import { randomUUID } from 'node:crypto';
import type { ContentBlock, Plan, SessionUpdate, ToolCallContent, ToolCallUpdate } from '@agentclientprotocol/sdk';
import { unifiedDiff } from '../../../base/unified-diff.ts';
import { isObject } from '../../../base/values.ts';
import type { RuntimeEvent } from '../run-host.ts';

/** A change to a file as a unified diff. */
export interface FileDiff {
  path: string;
  diff: string;
}

/** A tool call, as far as the agent has described it. */
export interface ToolCallState {
  id: string;
  name: string;
  title: string;
  /** Undefined if the agent does not send it. */
  input: unknown;
  diffs: FileDiff[];
  /** The texts before and after the diffs: what is the same in both is not part of a diff, except next to changes. */
  changedTexts: string[];
  texts: string[];
  paths: string[];
}

interface TrackedCall extends ToolCallState {
  eventId: string;
  isShown: boolean;
  isOver: boolean;
  output: unknown;
}

/** The name of a tool that the agent does not name. */
const unknownTool = 'tool';

/** The length of the longest result, in characters. The rest is left out, because long output belongs in a file. */
const maxResultLength = 100_000;

/** Returns a function that creates event IDs, which differ from those of every other process. */
export function eventIds(): () => string {
  const process = randomUUID().slice(0, 8);
  let count = 0;
  return () => `${process}-${++count}`;
}

export class SessionUpdates {
  readonly #nextId: () => string;
  readonly #workspace: string;
  readonly #calls = new Map<string, TrackedCall>();
  #text = '';
  #textKind: 'text' | 'thought' = 'text';
  #messageId: string | undefined;
  #plan = '';

  /** @param nextId creates the IDs of events @param workspace the absolute path of the workspace, to which paths are made relative */
  constructor(nextId: () => string, workspace: string) {
    this.#nextId = nextId;
    this.#workspace = workspace;
  }

  /** The events that an update completes. Unknown updates are ignored. */
  accept(update: SessionUpdate): RuntimeEvent[] {
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
        return this.#acceptText('text', update.content, update.messageId ?? undefined);
      case 'agent_thought_chunk':
        return this.#acceptText('thought', update.content, update.messageId ?? undefined);
      case 'tool_call':
      case 'tool_call_update':
        return [...this.#finishText(), ...this.#acceptCall(update)];
      case 'plan':
        return [...this.#finishText(), ...this.#acceptPlan(update)];
      default:
        return [];
    }
  }

  /** The tool call that needs permission, including its earlier updates, and the events that the request completes. */
  acceptPermission(update: ToolCallUpdate): { call: ToolCallState; events: RuntimeEvent[] } {
    const events = [...this.#finishText(), ...this.#acceptCall(update)];
    const call = this.#calls.get(update.toolCallId) as TrackedCall;
    return { call, events: [...events, ...this.#show(call)] };
  }

  /** The remaining events, at the end of a prompt or before the run waits. */
  finish(): RuntimeEvent[] {
    const callEvents = [...this.#calls.values()].filter((call) => !call.isShown).flatMap((call) => this.#show(call));
    return [...this.#finishText(), ...callEvents];
  }

  /** Results for the calls whose end will not be reported. @param reason the error in these results */
  abandonCalls(reason: string): RuntimeEvent[] {
    const openCalls = [...this.#calls.values()].filter((call) => call.isShown && !call.isOver);
    for (const call of openCalls) call.isOver = true;
    return openCalls.map((call) => ({ kind: 'tool_result', id: this.#nextId(), callId: call.eventId, error: reason }));
  }

  #acceptText(kind: 'text' | 'thought', content: ContentBlock, messageId: string | undefined): RuntimeEvent[] {
    const isNew = kind !== this.#textKind || (messageId !== undefined && this.#messageId !== undefined && messageId !== this.#messageId);
    const events = isNew ? this.#finishText() : [];
    this.#textKind = kind;
    this.#messageId = messageId;
    this.#text += textOf(content);
    return events;
  }

  #finishText(): RuntimeEvent[] {
    const text = this.#text.trim();
    this.#text = '';
    this.#messageId = undefined;
    return text === '' ? [] : [{ kind: this.#textKind, id: this.#nextId(), text }];
  }

  #acceptPlan({ entries }: Plan): RuntimeEvent[] {
    const signs = { completed: 'x', in_progress: '>', pending: ' ' } as const;
    const text = entries.map(({ content, status }) => `[${signs[status] ?? ' '}] ${content}`).join('\n');
    if (text === '' || text === this.#plan) return [];
    this.#plan = text;
    return [{ kind: 'plan', id: this.#nextId(), text }];
  }

  #acceptCall(update: ToolCallUpdate): RuntimeEvent[] {
    const call = this.#calls.get(update.toolCallId) ?? this.#newCall(update.toolCallId);
    call.name = nameOf(update) ?? (call.name === unknownTool ? (update.kind ?? unknownTool) : call.name);
    if (update.title != null) call.title = this.#shortText(update.title);
    if (isFilled(update.rawInput)) call.input = update.rawInput;
    if (update.rawOutput !== undefined && update.rawOutput !== null) call.output = update.rawOutput;
    if (update.locations != null) call.paths = update.locations.map(({ path }) => this.#shortPath(path));
    if (update.content != null) {
      call.diffs = update.content.flatMap((content) => this.#diffOf(content));
      call.changedTexts = update.content.flatMap((content) =>
        content.type === 'diff' ? [content.oldText ?? '', content.newText].map((text) => this.#shortText(text)) : [],
      );
      call.texts = update.content.flatMap((content) => (content.type === 'content' ? [textOf(content.content)] : []));
    }
    const isOver = update.status === 'completed' || update.status === 'failed';
    // While a call is pending, the agent might still be generating its arguments.
    const hasStarted = isOver || update.status === 'in_progress';
    const events = hasStarted ? this.#show(call) : [];
    if (!isOver || call.isOver) return events;
    call.isOver = true;
    return [...events, this.#resultOf(call, update.status === 'failed')];
  }

  #newCall(id: string): TrackedCall {
    const empty = { input: undefined, output: undefined, diffs: [], changedTexts: [], texts: [], paths: [] };
    const call: TrackedCall = { id, eventId: this.#nextId(), name: unknownTool, title: '', ...empty, isShown: false, isOver: false };
    this.#calls.set(id, call);
    return call;
  }

  #show(call: TrackedCall): RuntimeEvent[] {
    if (call.isShown) return [];
    call.isShown = true;
    return [{ kind: 'tool_call', id: call.eventId, name: call.name, arguments: this.argumentsOf(call) }];
  }

  #resultOf(call: TrackedCall, isFailed: boolean): RuntimeEvent {
    const text = call.texts.join('\n') || (typeof call.output === 'string' ? call.output : '');
    const shortText =
      text.length > maxResultLength ? `${text.slice(0, maxResultLength)}\n[${text.length - maxResultLength} more characters]` : text;
    const event = { kind: 'tool_result' as const, id: this.#nextId(), callId: call.eventId };
    if (isFailed) return { ...event, error: shortText || 'The tool failed.' };
    return {
      ...event,
      result: { ...(shortText === '' ? {} : { text: shortText }), ...(call.diffs.length > 0 ? { diffs: call.diffs } : {}) },
    };
  }

  #diffOf(content: ToolCallContent): FileDiff[] {
    if (content.type !== 'diff') return [];
    const path = this.#shortPath(content.path);
    const { oldText, newText } = content;
    const beforeName = oldText == null ? '/dev/null' : `a/${path}`;
    return [{ path, diff: unifiedDiff({ before: oldText ?? '', after: newText, beforeName, afterName: `b/${path}` }).join('\n') }];
  }

  /** The arguments of a call as people see them. Files of the workspace are relative to it. */
  argumentsOf({ title, input, paths, diffs }: ToolCallState): Record<string, unknown> {
    if (isObject(input)) return this.#shorten(input) as Record<string, unknown>;
    const files = paths.length > 0 ? paths : diffs.map(({ path }) => path);
    return {
      ...(title === '' ? {} : { title }),
      ...(input === undefined ? {} : { input: this.#shorten(input) }),
      ...(files.length > 0 ? { paths: files } : {}),
    };
  }

  #shorten(value: unknown): unknown {
    if (typeof value === 'string') return this.#shortText(value);
    if (Array.isArray(value)) return value.map((part) => this.#shorten(part));
    return isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, part]) => [name, this.#shorten(part)])) : value;
  }

  #shortText(text: string): string {
    return text.replaceAll(`${this.#workspace}/`, '');
  }

  #shortPath(path: string): string {
    return path.startsWith(`${this.#workspace}/`) ? path.slice(this.#workspace.length + 1) : path;
  }
}

/** The name of a tool in the field of the protocol, or in the metadata of Claude's adapter or of Qwen Code. */
function nameOf({ name, _meta: meta }: ToolCallUpdate): string | undefined {
  if (typeof name === 'string' && name !== '') return name;
  if (typeof meta?.toolName === 'string' && meta.toolName !== '') return meta.toolName;
  const claude = meta?.claudeCode;
  if (isObject(claude) && typeof claude.toolName === 'string') return claude.toolName;
  return undefined;
}

const isFilled = (input: unknown): boolean =>
  input !== undefined && input !== null && !(isObject(input) && Object.keys(input).length === 0);

/** The text of a part of a message. Other content is represented by its type or URI. */
export function textOf(content: ContentBlock): string {
  switch (content.type) {
    case 'text':
      return content.text;
    case 'resource_link':
      return content.title ?? content.name;
    case 'resource':
      return 'text' in content.resource ? content.resource.text : `[${content.resource.uri}]`;
    case 'image':
    case 'audio':
      return `[${content.type}: ${content.mimeType}]`;
    default:
      return '';
  }
}
