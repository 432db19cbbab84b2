/** What docs/revisions.md says the builder understands is what the builder says it does. */
import { expect, it } from 'vitest';
import { grammarLines } from '../../src/service/runtimes/script/builder/help.ts';
import { readDocument } from './markdown.ts';

it('lists in the document what the builder lists when it understands nothing', () => {
  const [, section = ''] = readDocument('docs/revisions.md').split('## What the builder of the local service understands\n');
  const lines =
    section
      .split('\n## ')[0]
      // An item that does not fit one line continues on indented ones.
      ?.replaceAll('\n  ', ' ')
      .split('\n')
      .filter((line) => line.startsWith('- ')) ?? [];
  expect(lines.map((line) => line.slice(2).replaceAll('`', ''))).toEqual(grammarLines);
});
