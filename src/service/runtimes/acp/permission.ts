/**
 * Converts requests for permission to human requests, and the answers to responses. A person approves or denies one execution of one
 * tool with its arguments. An option is chosen by its kind, never by its position, because agents list "always allow" first.
 */
import { createHash } from 'node:crypto';
import type { PermissionOption, RequestPermissionOutcome } from '@agentclientprotocol/sdk';
import { isObject, shorten } from '../../../base/values.ts';
import type { HumanRequestDraft } from '../run-host.ts';
import { hiddenArguments } from './hidden-arguments.ts';
import type { ToolCallState } from './updates.ts';

const maxTitleLength = 200;
/** The length of the longest part of a description, in characters. People cannot judge more; the length of the rest is stated. */
const maxPartLength = 20_000;

/** Identifies a tool with its arguments: a decision about one call applies only to calls with an equal fingerprint. */
export function fingerprintOf(call: ToolCallState): string {
  const { id, name, title, input, diffs, paths, texts } = call;
  // A call without arguments is identified by its description. Without one, a decision applies to no other call.
  const description = { name, title, diffs, paths, texts, ...(isUndescribed(call) ? { id } : {}) };
  const subject = input === undefined ? description : { name, input };
  return createHash('sha256').update(stableJson(subject)).digest('hex');
}

/** Whether the agent reports nothing about a call besides a title: OpenCode does not report the arguments for the tools of MCP servers. */
const isUndescribed = ({ name, input, diffs, paths, texts }: ToolCallState): boolean =>
  input === undefined && diffs.length === 0 && paths.length === 0 && texts.join('').trim() === '' && unnamedTools.includes(name);

/** Names of tools whose title does not say what they do, unlike that of a command. */
const unnamedTools = ['other', 'tool'];

/** JSON with sorted keys, so that equal values are equal texts. */
function stableJson(value: unknown, indentation?: number): string {
  const sortKeys = (_: string, part: unknown): unknown =>
    isObject(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part;
  return JSON.stringify(value, sortKeys, indentation);
}

/**
 * The option with the first of these kinds that the agent offers. An ID that also names an option of another kind chooses nothing, because
 * the agent could take a denial for a permission.
 */
function optionOf(options: readonly PermissionOption[], kinds: readonly PermissionOption['kind'][]): PermissionOption | undefined {
  const isUsable = ({ optionId, kind }: PermissionOption): boolean =>
    options.every((other) => other.optionId !== optionId || other.kind === kind);
  const usableOptions = options.filter(isUsable);
  return kinds.map((kind) => usableOptions.find((option) => option.kind === kind)).find((option) => option !== undefined);
}

/** A lasting permission is granted only if the agent offers nothing else, and the human request states that. */
const permittingOption = (options: readonly PermissionOption[]): PermissionOption | undefined =>
  optionOf(options, ['allow_once', 'allow_always']);

/** What people are told if they cannot permit a single execution. */
const limitationsOf = {
  lasting: 'The agent offers no permission for a single execution. If you approve, it might not ask again for calls like this.',
  none: 'The agent offers no permission for this call, so it is told not to carry it out, even if you approve.',
};

/** The human request: the tool, its arguments, and the changes to files. @param displayArguments the arguments as people see them */
export function permissionRequest(
  call: ToolCallState,
  options: readonly PermissionOption[],
  displayArguments: Record<string, unknown>,
): HumanRequestDraft {
  const permission = permittingOption(options)?.kind;
  const isLasting = permission === 'allow_always';
  const subject = call.diffs.length > 0 ? changesOf(call, displayArguments) : [fencedBlock(stableJson(displayArguments, 2), 'json')];
  const parts = [
    ...(isLasting ? [limitationsOf.lasting] : []),
    ...(permission === undefined ? [limitationsOf.none] : []),
    ...(isUndescribed(call) ? ['The agent does not report the arguments of this call.'] : []),
    `Tool: ${call.name}`,
    ...call.texts.filter((text) => text.trim() !== '').map((text) => truncate(text)),
    ...subject,
  ];
  const title = `${isLasting ? 'Always allow: ' : ''}${titleOf(call)}`.replaceAll(/\s+/g, ' ').trim();
  return { type: 'approval', title: shorten(title, maxTitleLength), description: parts.join('\n\n') };
}

/** The diffs, and the arguments that these do not show. */
function changesOf(call: ToolCallState, displayArguments: Record<string, unknown>): string[] {
  const diffs = call.diffs.map(({ diff }) => fencedBlock(diff, 'diff'));
  const hidden = hiddenArguments(call, displayArguments);
  return hidden === undefined ? diffs : [...diffs, 'Arguments that the diff does not show:', fencedBlock(stableJson(hidden, 2), 'json')];
}

/** The tool and the files it affects, because the titles of some agents contain only a file, and those of others only an action. */
function titleOf({ title, name, paths, diffs }: ToolCallState): string {
  const files = [...new Set([...diffs.map(({ path }) => path), ...paths])];
  if (title === '' || files.includes(title)) return [name, title || files.join(', ')].join(' ');
  const unnamed = files.filter((file) => !title.includes(file));
  return unnamed.length === 0 || unnamed.length < files.length ? title : `${title}: ${unnamed.join(', ')}`;
}

const truncate = (text: string): string =>
  text.length > maxPartLength ? `${text.slice(0, maxPartLength)}\n[${text.length - maxPartLength} more characters]` : text;

/** A fenced block whose fence is longer than any fence in the text. */
function fencedBlock(text: string, language: string): string {
  const longestFence = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longestFence + 1);
  return `${fence}${language}\n${truncate(text)}\n${fence}`;
}

/**
 * The response to the agent. A denial is lasting only if the agent offers no other. If it offers no suitable option at all, the response
 * is `cancelled`, which allows nothing.
 */
export function outcomeOf(options: readonly PermissionOption[], isApproved: boolean): RequestPermissionOutcome {
  const option = isApproved ? permittingOption(options) : optionOf(options, ['reject_once', 'reject_always']);
  return option === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId: option.optionId };
}
