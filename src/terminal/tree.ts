/** Files and folders as a tree. */
import { cellText, paint, type View } from './cell.ts';
import { formatSize } from './size.ts';
import { plainStyles } from './style.ts';

export interface TreeEntry {
  /** Below the root: `/workspace/a/b`. */
  path: string;
  type: string;
  size: number;
}

const lines = { branch: '├── ', last: '└── ', pass: '│   ', space: '    ' };
const plainLines = { branch: '|-- ', last: '`-- ', pass: '|   ', space: '    ' };

/** Depth first, each folder sorted by name. An entry whose folder is not in the list is placed below the root. */
export function treeOrder<Entry extends TreeEntry>(root: string, entries: readonly Entry[]): { entry: Entry; ancestry: boolean[] }[] {
  const directories = new Set(entries.flatMap(({ path, type }) => (type === 'directory' ? [path] : [])));
  const children = new Map<string, Entry[]>();
  for (const entry of entries) {
    const parent = entry.path.slice(0, entry.path.lastIndexOf('/'));
    const key = directories.has(parent) ? parent : root;
    const members = children.get(key);
    if (members) members.push(entry);
    else children.set(key, [entry]);
  }
  const orderedEntries: { entry: Entry; ancestry: boolean[] }[] = [];
  const visit = (folder: string, ancestry: boolean[]): void => {
    const members = (children.get(folder) ?? []).sort((a, b) => (a.path < b.path ? -1 : 1));
    // Removed, so that a folder that claims to contain itself is shown only once.
    children.delete(folder);
    for (const [index, entry] of members.entries()) {
      const place = [...ancestry, index === members.length - 1];
      orderedEntries.push({ entry, ancestry: place });
      if (entry.type === 'directory') visit(entry.path, place);
    }
  };
  visit(root, []);
  return orderedEntries;
}

/** The tree as text that ends in a line feed; off a terminal, path and size separated by a tab. Folders end in a slash. */
export function renderTree(root: string, entries: readonly TreeEntry[], view: View): string {
  const orderedEntries = treeOrder(root, entries);
  const isFolder = (entry: TreeEntry): boolean => entry.type === 'directory';
  if (!view.tty)
    return orderedEntries.map(({ entry }) => `${cellText(entry.path, view)}${isFolder(entry) ? '/\t' : `\t${entry.size}`}\n`).join('');
  const { branch, last, pass, space } = view.unicode ? lines : plainLines;
  const { bold, dim } = view.styles ?? plainStyles;
  const rows = orderedEntries.map(({ entry, ancestry }) => {
    const indents = ancestry.slice(0, -1).map((isLast) => (isLast ? space : pass));
    const name = cellText(entry.path.slice(entry.path.lastIndexOf('/') + 1), view);
    const label = isFolder(entry) ? paint(`${name}/`, 'accent', view) : `${name}  ${dim(formatSize(entry.size))}`;
    return `${dim(indents.join('') + (ancestry.at(-1) ? last : branch))}${label}\n`;
  });
  return `${bold(cellText(root, view))}\n${rows.join('')}`;
}
