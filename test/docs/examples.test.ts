/** Everything that the documents show in a console is run, and has to print what they show. */
import { describe, expect, it } from 'vitest';
import { matches } from './compare.ts';
import { consoleExamples, documents, readDocument } from './markdown.ts';
import { runExamples } from './run-examples.ts';

describe.concurrent('the examples of', () => {
  for (const document of documents) {
    const examples = consoleExamples(readDocument(document));
    if (examples.length === 0) continue;
    it(document, async ({ expect: expectHere }) => {
      // One document shows that the launcher makes no difference.
      const { home, outputs } = await runExamples(examples, { processes: document === 'README.md' });
      const mismatches = examples.flatMap(({ command, line, output: expectedLines }, index) => {
        const output = outputs[index] ?? { stdout: [], stderr: [] };
        if (matches(expectedLines, output, home)) return [];
        return [
          `${document}:${line}: $ ${command}\nshows\n${indent(expectedLines)}\nbut prints\n${indent([...output.stderr, ...output.stdout])}`,
        ];
      });
      expectHere(mismatches.join('\n\n')).toBe('');
    });
  }

  it('exist', () => {
    expect(documents.flatMap((document) => consoleExamples(readDocument(document))).length).toBeGreaterThan(20);
  });
});

const indent = (lines: readonly string[]): string => lines.map((line) => `  ${line}`).join('\n');
