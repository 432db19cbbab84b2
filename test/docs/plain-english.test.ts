/** The check of phrases and long lines, which is part of `npm run lint`: what it finds, what it leaves alone, and that it finds nothing here. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/temporary.ts';
import { root } from './markdown.ts';

/** Runs the check on paths; without any, on what is checked by default. */
function check(...paths: string[]): { status: number | null; problems: string[] } {
  const { status, stderr } = spawnSync(process.execPath, [path.join(root, 'scripts/lint/text/check.js'), ...paths], {
    cwd: root,
    encoding: 'utf8',
  });
  return { status, problems: stderr.split('\n').filter((line) => /:\d+: /.test(line)) };
}

/** The problems in files with these texts, without the name of their folder. */
async function problemsIn(files: Record<string, string>): Promise<string[]> {
  const folder = await temporaryFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text);
  const { status, problems } = check(folder);
  expect(status).toBe(problems.length === 0 ? 0 : 1);
  return problems.map((problem) => problem.slice(folder.length + 1));
}

describe('the check of texts', () => {
  it('accepts everything that is written by hand', () => {
    expect(check()).toEqual({ status: 0, problems: [] });
  });

  it('reports a phrase with its line and a suggestion', async () => {
    // phrases-ignore: these are the phrases to find
    const suggestions = {
      'is none': 'is not a ...',
      'there is none': 'there are no ... (name the thing)',
      'for who': 'for whoever, to the client that',
      'so many': 'this many, the number of',
      beside: 'next to, besides, in addition to',
      'is told as': 'is reported as',
      'tells of': 'reports, is informed of',
      'is no database of': 'is not a ...',
      'sends it as it is': 'unchanged',
      'under way': 'in progress',
    };

    const phraseEntries = Object.entries(suggestions).map(([phrase, replacement]) => [phrase.replace('sends it ', ''), replacement]);
    const lines = Object.keys(suggestions).map((phrase) => `const a = 'This ${phrase}';`);
    expect(await problemsIn({ 'a.ts': lines.join('\n') })).toEqual(
      phraseEntries.map(([phrase, replacement], index) => `a.ts:${index + 1}: "${phrase}" is not plain English; write: ${replacement}`),
    );
  });

  it('reports a phrase in comments, paragraphs, and titles, also across lines and in capital letters', async () => {
    const textProblems = await problemsIn({
      'block.ts': '/**\n * It is\n * none.\n */\n',
      'capital.ts': "const a = 'IS NONE';\n", // phrases-ignore
      'line.ts': '// It is\n// none.\n',
      'paragraph.md': 'It is\nnone.\n',
      'title.test.ts': "it('is none', () => {});\n", // phrases-ignore
    });
    expect(textProblems.map((problem) => problem.split(' ')[0])).toEqual([
      'block.ts:2:',
      'capital.ts:1:',
      'line.ts:1:',
      'paragraph.md:1:',
      'title.test.ts:1:',
    ]);
  });

  it('accepts similar words, and words that are usual elsewhere in a sentence', async () => {
    const lines = [
      'const isNone = besides.length;',
      "const a = 'There is nonetheless so much';",
      "const a = 'a list of who can use it';",
      "const a = 'It stands in for a system, and stays as it is.';",
      "const a = 'There is no run of this agent.';",
    ];
    expect(await problemsIn({ 'a.ts': lines.join('\n') })).toEqual([]);
  });

  it('accepts a quotation below a comment, up to the next empty line', async () => {
    const text = "// phrases-ignore\nconst a = 'is none';\nconst b = 'beside';\n\nconst c = 'so many';\n"; // phrases-ignore
    expect(await problemsIn({ 'a.ts': text })).toEqual([
      'a.ts:5: "so many" is not plain English; write: this many, the number of', // phrases-ignore
    ]);
  });

  it('reports long lines of Markdown that could be broken', async () => {
    const longText = 'word '.repeat(30);
    const address = `[x](https://example.com/${'y'.repeat(120)})`;
    const text = [
      '| a | b |',
      `| ${longText}| ${longText}|`,
      '',
      '```sh',
      longText,
      '```',
      '',
      `# ${longText}`,
      '',
      `- ${address}`,
      '',
      longText,
    ].join('\n');
    expect(await problemsIn({ 'a.md': text })).toEqual(['a.md:12: more than 120 columns; break the line']);
  });
});
