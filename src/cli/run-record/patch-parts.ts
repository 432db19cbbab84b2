/** The parts of a patch of git, one for each changed file. */
import type { ChangedFile } from '../../interface/types.ts';
import { formatSize } from '../../terminal/size.ts';

/** The parts in the order of the changed files. Content lines begin with a space or a sign, and names are quoted if they contain line breaks. */
export const patchParts = (patch: string): string[] => patch.split(/^(?=diff --git )/m).filter((part) => part !== '');

/**
 * The part of a file for people: the IDs of contents are short, and binary content is only mentioned.
 * @param part undefined if only the name of the file is known
 * @param maxLength in characters; of a longer part, only the head is shown
 */
export function shownPart(
  file: Pick<ChangedFile, 'path' | 'size_before' | 'size_after' | 'lines_added'>,
  part: string | undefined,
  maxLength = Number.POSITIVE_INFINITY,
): string {
  const text = abbreviateIds(part ?? `diff --git ${file.path}\n`);
  const sizes = [file.size_before, file.size_after].map((size) => (size === null ? 'nothing' : formatSize(size)));
  const head = text.slice(0, Math.max(0, text.search(/^(?:GIT binary patch|---|@@) ?/m)) || text.length);
  if (part === undefined || text.length > maxLength) return `${head}Differs (${sizes.join(' to ')})\n`;
  return file.lines_added === null ? `${head}Binary file (${sizes.join(' to ')})\n` : text;
}

/** With short IDs of contents: the exact patch has complete ones, which `git apply` needs. */
const abbreviateIds = (part: string): string => part.replace(/^(index [0-9a-f]{7})[0-9a-f]*(\.\.[0-9a-f]{7})[0-9a-f]*/m, '$1$2');
