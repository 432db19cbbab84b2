/** The forms in which `sandbox diff` shows what a run changed in its repository. */
import { Buffer } from 'node:buffer';
import { pluralize } from '../../../base/pluralize.ts';
import { forPeople } from '../../../cli/kit/audience.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { column, sizeColumn } from '../../../cli/kit/output.ts';
import { patchParts, shownPart } from '../../../cli/run-record/patch-parts.ts';
import type { RunChanges } from '../../../interface/types.ts';
import type { View } from '../../../terminal/cell.ts';
import { sanitizeLine } from '../../../terminal/sanitize.ts';
import { PatchedFile, patchBytes } from './run-changes.ts';

/** The part of a file is shown up to this length, in characters. */
const maxPartLength = 1024 * 1024;
/** Patches up to this many bytes are shown on a terminal. */
const maxPatchBytes = 64 * 1024 * 1024;

/** The changed files, with the patch if it is shown on a terminal. */
export async function patchedFiles(context: Context, changes: RunChanges, withPatch: boolean): Promise<PatchedFile[]> {
  const shows = withPatch && forPeople(context) && changes.patch_size <= maxPatchBytes;
  const parts = shows ? patchParts(await patchText(context, changes)) : [];
  return changes.files.map((file, index) => new PatchedFile(file, parts[index]));
}

async function patchText(context: Context, changes: RunChanges): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of patchBytes(context, changes)) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** Says what the list does not contain. */
export function noteGaps(context: Context, { nested_repositories: nestedRepositories, files, total_files: total }: RunChanges): void {
  if (nestedRepositories.length > 0) {
    const remedy = context.terminal.suggested('Download them with `aops sandbox pull`.');
    context.terminal.note(`Folders with a repository of their own are left out: ${sanitizeLine(nestedRepositories.join(', '))}. ${remedy}`);
  }
  if (total > files.length) context.terminal.note(`Only the first ${files.length} of ${pluralize(total, 'changed file')} are listed.`);
}

const lineCount = (file: PatchedFile): string =>
  file.lines_added === null || file.lines_removed === null ? 'binary' : `+${file.lines_added} -${file.lines_removed}`;

export const statColumns = [
  column<PatchedFile>('CHANGE', (file) => file.change),
  column<PatchedFile>('LINES', lineCount),
  sizeColumn<PatchedFile>('BEFORE', (file) => file.size_before),
  sizeColumn<PatchedFile>('AFTER', (file) => file.size_after),
  column<PatchedFile>('PATH', (file) => (file.old_path === null ? file.path : `${file.old_path} -> ${file.path}`), { shrink: true }),
];

/** The patch as text for a person: binary content is only mentioned. */
export async function drawPatch(files: readonly PatchedFile[], view: View): Promise<string> {
  const { renderPatch } = await import('../../../terminal/diff.ts');
  return files.map((file) => renderPatch(shownPart(file, file.patch, maxPartLength), view)).join('');
}
