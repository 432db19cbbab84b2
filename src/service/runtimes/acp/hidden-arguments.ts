/** Which arguments of a tool call a person does not see in its diffs, such as a switch that applies the change in many places. */
import { isObject } from '../../../base/values.ts';
import type { ToolCallState } from './updates.ts';

const patchName = /diff|patch/i;
/** Lines of patches around the content. */
const patchLine = /^(?:Index: |=+$|\*\*\* |diff --git |index [\da-f]|--- |\+\+\+ |@@|\\ No newline)/;

/** Names of arguments that are files, or their content before and after. Another argument is shown although a diff contains its text. */
const contentName = /path|file|content|text|string|diff|patch|change|old|new|line|code|edit|insert/i;

/** The arguments without what the diffs and the title show; undefined if they show everything. */
export function hiddenArguments(
  { id, title, paths, diffs, changedTexts }: ToolCallState,
  args: Record<string, unknown>,
): object | undefined {
  const files = new Set([...paths, ...diffs.map(({ path }) => path)]);
  const lines = new Set(changedTexts.flatMap((text) => text.split('\n').map((line) => line.trim())));
  const isShownLine = (line: string): boolean => line.trim() === '' || lines.has(line.trim());
  const isShownInPatch = (line: string): boolean => patchLine.test(line) || isShownLine(line.slice(1));
  const isShown = (name: string, text: string): boolean =>
    files.has(text) || text.split('\n').every((line) => isShownLine(line) || (patchName.test(name) && isShownInPatch(line)));
  const hiddenPart = (name: string, value: unknown): unknown => {
    if (value === null || value === '') return undefined;
    if (typeof value === 'string')
      return value === id || value === title || (contentName.test(name) && isShown(name, value)) ? undefined : value;
    if (Array.isArray(value)) return nonEmpty(value.map((part) => hiddenPart(name, part)).filter((part) => part !== undefined));
    return isObject(value) ? hiddenMembers(value) : value;
  };
  const hiddenMembers = (members: Record<string, unknown>): object | undefined => {
    const parts = Object.entries(members).map(([name, value]) => {
      // A file that no diff is about is shown with everything that is to happen to it.
      const isOtherFile = isObject(value) && /[./\\]/.test(name) && !files.has(name);
      return [name, isOtherFile ? value : hiddenPart(name, value)] as const;
    });
    return nonEmpty(Object.fromEntries(parts.filter(([, part]) => part !== undefined)));
  };
  return hiddenMembers(args);
}

const nonEmpty = <Value extends object>(value: Value): Value | undefined => (Object.keys(value).length === 0 ? undefined : value);
