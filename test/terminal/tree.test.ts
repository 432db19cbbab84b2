import { describe, expect, it } from 'vitest';
import type { View } from '../../src/terminal/cell.ts';
import { loadStyles, resolveMarkup } from '../../src/terminal/style.ts';
import { renderTree, type TreeEntry } from '../../src/terminal/tree.ts';
import { hostileInput, sanitizedHostileText } from './fake-streams.ts';

const onTerminal: View = { tty: true, width: 80, now: 0 };
const pipedView: View = { tty: false, width: 80, now: 0 };
const folder = (path: string): TreeEntry => ({ path, type: 'directory', size: 0 });
const file = (path: string, size = 1): TreeEntry => ({ path, type: 'file', size });

const entries = [
  file('/workspace/z.txt', 1_500),
  folder('/workspace/a'),
  file('/workspace/a/two'),
  folder('/workspace/a/b'),
  file('/workspace/a/b/deep'),
  folder('/workspace/empty'),
];

describe('a tree', () => {
  it('shows the contents of each folder below it, sorted by name', () => {
    expect(renderTree('/workspace', entries, { ...onTerminal, unicode: true })).toBe(
      ['/workspace', '├── a/', '│   ├── b/', '│   │   └── deep  1 B', '│   └── two  1 B', '├── empty/', '└── z.txt  1.5 kB', ''].join('\n'),
    );
    expect(renderTree('/workspace', [folder('/workspace/a'), file('/workspace/a/b')], onTerminal)).toBe(
      '/workspace\n`-- a/\n    `-- b  1 B\n',
    );
  });

  it('is a list of paths and sizes in a pipe', () => {
    expect(renderTree('/workspace', entries.slice(0, 3), pipedView)).toBe('/workspace/a/\t\n/workspace/a/two\t1\n/workspace/z.txt\t1500\n');
  });

  it('places entries whose folder is missing below the root, and shows each folder once', () => {
    expect(renderTree('/workspace', [file('/workspace/gone/x'), file('/elsewhere')], pipedView)).toBe(
      '/elsewhere\t1\n/workspace/gone/x\t1\n',
    );
    // A folder that claims to contain itself.
    const strange = [folder('/'), folder(''), file('/x')];
    expect(renderTree('', strange, pipedView).split('\n').length).toBeLessThanOrEqual(4);
    expect(renderTree('/workspace', [], onTerminal)).toBe('/workspace\n');
  });

  it('distinguishes names, folders, and sizes by their styles', async () => {
    const view = { ...onTerminal, styles: await loadStyles(true) };
    expect(resolveMarkup(renderTree('/w', [folder('/w/a'), file('/w/b')], view)).replaceAll('\u001b', '^')).toBe(
      '^[1m/w^[22m\n^[2m|-- ^[22m^[36ma/^[39m\n^[2m`-- ^[22mb  ^[2m1 B^[22m\n',
    );
  });

  it('shows hostile names as harmless text', () => {
    for (const view of [onTerminal, pipedView])
      expect(renderTree(hostileInput, [file(`/w/${hostileInput}`)], view).replaceAll('\n', '')).toContain(sanitizedHostileText);
  });
});
