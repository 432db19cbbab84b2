/** Which arguments of a tool call a person does not see in its diffs, such as a switch that applies the change in many places. */
import { isObject } from '../../../base/values.ts';
import type { ToolCallState } from './updates.ts';

const patchNames: ReadonlySet<string> = new Set(['diff', 'patch', 'unifieddiff', 'filediff']);

/**
 * Names that agents give to files, to texts before and after a change, and to what contains these; in lower case, without underscores.
 * Only under these names can something be left out because a diff shows it: anything else may mean more than its text.
 */
const knownNames: ReadonlySet<string> = new Set([
  ...['path', 'paths', 'file', 'files', 'filepath', 'filename', 'absolutepath', 'relativepath', 'locations', 'title'],
  ...['content', 'contents', 'text', 'oldtext', 'newtext', 'oldstring', 'newstring', 'oldstr', 'newstr', 'oldcontent', 'newcontent'],
  ...['lines', 'filetext', 'newsource', 'codeedit', 'inserttext'],
  ...['changes', 'edits', 'edit', 'update', 'add'],
  ...patchNames,
]);
/** Lines of patches around the content. */
const patchLine = /^(?:Index: |=+$|\*\*\* |diff --git |index [\da-f]|--- |\+\+\+ |@@|\\ No newline)/;

/** Longer titles, in characters, may be shortened where a person sees them. */
const maxTitleLength = 100;

const normalized = (name: string): string => name.replaceAll('_', '').toLowerCase();

/** The arguments without what the diffs and the title show; undefined if they show everything. */
export function hiddenArguments(
  { id, title, paths, diffs, changedTexts }: ToolCallState,
  args: Record<string, unknown>,
): object | undefined {
  const files = new Set([...paths, ...diffs.map(({ path }) => path)]);
  const shownWhole = new Set([id, ...files, ...(title.length <= maxTitleLength ? [title] : [])]);
  const lines = new Set(changedTexts.flatMap((text) => text.split('\n').map((line) => line.trim())));
  const isShownLine = (line: string): boolean => line.trim() === '' || lines.has(line.trim());
  const isShownInPatch = (line: string): boolean => patchLine.test(line) || isShownLine(line.slice(1));
  const isShown = (name: string, text: string): boolean =>
    shownWhole.has(text) ||
    text.split('\n').every((line) => isShownLine(line) || (patchNames.has(normalized(name)) && isShownInPatch(line)));

  const hiddenPart = (name: string, value: unknown): unknown => {
    if (typeof value === 'string') return isShown(name, value) ? undefined : value;
    if (Array.isArray(value)) return nonEmpty(value.map((part) => hiddenPart(name, part)).filter((part) => part !== undefined));
    if (isObject(value)) return hiddenMembers(value, hiddenMember);
    return value ?? undefined;
  };
  const hiddenMember = (name: string, value: unknown): unknown =>
    files.has(name) || knownNames.has(normalized(name)) ? hiddenPart(name, value) : value;
  // An argument without a value says nothing, but inside an object this can be a file that is deleted.
  return hiddenMembers(args, (name, value) => (value === null || value === '' || value === id ? undefined : hiddenMember(name, value)));
}

function hiddenMembers(
  members: Record<string, unknown>,
  hiddenMember: (name: string, value: unknown) => unknown,
): Record<string, unknown> | undefined {
  const parts = Object.entries(members).map(([name, value]) => [name, hiddenMember(name, value)] as const);
  return nonEmpty(Object.fromEntries(parts.filter(([, part]) => part !== undefined)));
}

const nonEmpty = <Value extends object>(value: Value): Value | undefined => (Object.keys(value).length === 0 ? undefined : value);
