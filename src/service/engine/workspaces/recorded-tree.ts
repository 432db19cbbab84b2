/** Finds paths in the record of a sandbox, as `locate` does on the disk: links are followed if they end inside of the workspace. */
import path from 'node:path';
import { invalidPath, namesOf, notADirectory, publicPath } from '../../sandbox/paths.ts';
import type { RecordedEntry } from '../../sandbox/record/entries.ts';
import type { Queries } from '../../store/database/database.ts';
import { entriesAt, workspaceState } from '../../store/runs/workspace-files.ts';

/** The path of the workspace in the record. */
export const workspacePath = 'workspace';

/** As many as Linux follows (`path_resolution(7)`). */
const maxHops = 40;

/** A location in the record. */
export interface RecordedPlace {
  /** The path that callers see. */
  displayPath: string;
  /** The path in the record, without links. */
  path: string;
  /** Undefined if it does not exist yet. */
  entry: RecordedEntry | undefined;
}

/**
 * Looks up a path. Folders on the way can be missing, too.
 * @param requested the path that was requested, if this is the folder of it
 * @throws ServiceError `invalid_path`, `not_a_directory`
 */
export async function findRecorded(db: Queries, sandboxId: string, input: string, requested = input): Promise<RecordedPlace> {
  const displayPath = publicPath(namesOf(input));
  let names = namesOf(input);
  // How many of the names come from the target of a link; these must exist.
  let linked = 0;
  // Whether the last of them must be a folder, because the target of a link ends with a slash.
  let endsInFolder = false;
  for (let hops = 0; hops <= maxHops; ) {
    // Only the targets of links contain `..`. It leads up from where a link before it leads, so these are followed first.
    const upIndex = names.indexOf('..');
    const head = upIndex < 0 ? names : names.slice(0, upIndex);
    const paths = head.map((_, index) => [workspacePath, ...head.slice(0, index + 1)].join('/'));
    const entries = await entriesAt(db, sandboxId, paths);
    const linkIndex = paths.findIndex((name) => entries.get(name)?.type === 'link');
    const lookup = { input, requested, linked, endsInFolder, count: names.length };
    checkFolders(paths.slice(0, linkIndex < 0 ? paths.length : linkIndex + 1), entries, lookup);
    const place = paths.at(-1);
    if (linkIndex >= 0) {
      const target = targetOf(paths[linkIndex] as string, entries) ?? leadsOut(requested);
      endsInFolder = target.isFolder || (endsInFolder && linkIndex < linked);
      linked = target.names.length + Math.max(0, linked - linkIndex - 1);
      names = [...target.names, ...names.slice(linkIndex + 1)];
      hops += 1;
    } else if (upIndex >= 0) {
      // Out of the workspace, and back into it.
      const returns = place === undefined && names[1] === workspacePath;
      if (!returns && (place === undefined || entries.get(place)?.type !== 'folder')) leadsOut(requested);
      names = returns ? names.slice(2) : [...head.slice(0, -1), ...names.slice(upIndex + 1)];
      linked -= 2;
    } else {
      if (place === undefined) return { displayPath, path: workspacePath, entry: await rootEntry(db, sandboxId) };
      const entry = entries.get(place);
      if (endsInFolder && linked === names.length && entry?.type !== 'folder') leadsOut(requested);
      return { displayPath, path: place, entry };
    }
  }
  return leadsOut(requested);
}

interface Lookup {
  input: string;
  requested: string;
  linked: number;
  endsInFolder: boolean;
  /** How many names there are. The last ones are those of the input, unless they are linked. */
  count: number;
}

/** Throws unless all but the last path are folders, or missing where no link leads. */
function checkFolders(paths: readonly string[], entries: ReadonlyMap<string, RecordedEntry>, lookup: Lookup): void {
  for (const [index, name] of paths.entries()) {
    const entry = entries.get(name);
    const isLast = index === paths.length - 1;
    // The same error for every link that does not end inside, including dangling ones, as on the disk.
    if (entry === undefined && index < lookup.linked) leadsOut(lookup.requested);
    if (isLast) return;
    if (entry === undefined || entry.type === 'folder') continue;
    if (index < lookup.linked - (lookup.endsInFolder ? 0 : 1)) leadsOut(lookup.requested);
    const written = namesOf(lookup.input);
    throw notADirectory(publicPath(written.slice(0, written.length - (lookup.count - 1 - index))));
  }
}

interface LinkTarget {
  /** They lead to it from the workspace, and can contain `..`. */
  names: string[];
  /** Whether it has to be a folder. */
  isFolder: boolean;
}

/** Undefined for an absolute target. */
function targetOf(link: string, entries: ReadonlyMap<string, RecordedEntry>): LinkTarget | undefined {
  const entry = entries.get(link);
  if (entry?.type !== 'link' || path.posix.isAbsolute(entry.target)) return undefined;
  const [, ...folders] = path.posix.dirname(link).split('/');
  const names = [...folders, ...entry.target.split('/').filter((name) => name !== '' && name !== '.')];
  return { names, isFolder: /(^|\/)\.?$/.test(entry.target) };
}

function leadsOut(input: string): never {
  throw invalidPath(input, 'it leads out of the sandbox.');
}

/** The workspace exists even if nothing was recorded yet. */
async function rootEntry(db: Queries, sandboxId: string): Promise<RecordedEntry> {
  const recorded = (await entriesAt(db, sandboxId, [workspacePath])).get(workspacePath);
  if (recorded !== undefined) return recorded;
  const state = await workspaceState(db, sandboxId);
  return { type: 'folder', path: workspacePath, mode: 0o700, modifiedAt: state === undefined ? 0 : Date.parse(state.created_at) };
}
