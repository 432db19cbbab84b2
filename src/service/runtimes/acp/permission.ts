/**
 * Requests for permission, and what is answered to them. A person approves or denies one execution of one tool with its arguments: an
 * option is chosen by its kind, never by its position, because agents list "always allow" first.
 */
import { createHash } from 'node:crypto';
import type { PermissionOption, RequestPermissionOutcome } from '@agentclientprotocol/sdk';
import { isObject, shorten } from '../../../base/values.ts';
import type { HumanRequestDraft } from '../runtime.ts';
import type { ToolCallState } from './updates.ts';

const longestTitle = 200;
/** The longest part of a description, in characters. People cannot judge more, and the rest is named. */
const longestPart = 20_000;

/** Identifies a tool with its arguments: a decision about one call applies only to calls with an equal fingerprint. */
export function fingerprintOf({ name, title, input, diffs, paths }: ToolCallState): string {
  // Without arguments, whatever describes the call takes their place.
  const subject = input === undefined ? { name, title, diffs, paths } : { name, input };
  return createHash('sha256').update(stableJson(subject)).digest('hex');
}

/** JSON with sorted keys, so that equal values are equal texts. */
function stableJson(value: unknown, indentation?: number): string {
  const sorted = (_: string, part: unknown): unknown =>
    isObject(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part;
  return JSON.stringify(value, sorted, indentation);
}

/** Whether a single execution can be allowed. Otherwise, the request is about a lasting permission. */
export const canAllowOnce = (options: readonly PermissionOption[]): boolean => options.some(({ kind }) => kind === 'allow_once');

/** The request to a person: the tool, its arguments, and the changes of files. @param shownArguments as people see them */
export function permissionRequest(
  call: ToolCallState,
  options: readonly PermissionOption[],
  shownArguments: Record<string, unknown>,
): HumanRequestDraft {
  const isLasting = !canAllowOnce(options);
  const subject =
    call.diffs.length > 0 ? call.diffs.map(({ diff }) => fenced(diff, 'diff')) : [fenced(stableJson(shownArguments, 2), 'json')];
  const parts = [
    ...(isLasting
      ? ['The agent offers no permission for a single execution. If you approve, it might not ask again for calls like this.']
      : []),
    `Tool: ${call.name}`,
    ...call.texts.filter((text) => text.trim() !== '').map((text) => limited(text)),
    ...subject,
  ];
  const title = `${isLasting ? 'Always allow: ' : ''}${titleOf(call)}`.replaceAll(/\s+/g, ' ').trim();
  return { type: 'approval', title: shorten(title, longestTitle), description: parts.join('\n\n') };
}

/** Some agents only name the file, others only what they do. */
function titleOf({ title, name, paths, diffs }: ToolCallState): string {
  const files = [...new Set([...diffs.map(({ path }) => path), ...paths])];
  if (title === '' || files.includes(title)) return [name, title || files.join(', ')].join(' ');
  const unnamed = files.filter((file) => !title.includes(file));
  return unnamed.length === 0 || unnamed.length < files.length ? title : `${title}: ${unnamed.join(', ')}`;
}

const limited = (text: string): string =>
  text.length > longestPart ? `${text.slice(0, longestPart)}\n[${text.length - longestPart} more characters]` : text;

/** A fenced block; the fence is longer than any in the text. */
function fenced(text: string, language: string): string {
  const longestFence = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longestFence + 1);
  return `${fence}${language}\n${limited(text)}\n${fence}`;
}

/**
 * What to answer to the agent. A denial never becomes lasting if it can be avoided. `cancelled` is what remains if the agent offers no
 * fitting option: it does not allow anything.
 */
export function outcomeOf(options: readonly PermissionOption[], isApproved: boolean): RequestPermissionOutcome {
  const kinds = isApproved ? (['allow_once', 'allow_always'] as const) : (['reject_once', 'reject_always'] as const);
  // A lasting permission is granted only if nothing else is offered, which the request then says.
  const option = kinds.map((kind) => options.find((candidate) => candidate.kind === kind)).find((candidate) => candidate !== undefined);
  return option === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId: option.optionId };
}
