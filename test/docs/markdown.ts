/** The documents by hand, and what the tests take from them. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));

/** The Markdown files of a folder, as paths in the repository. */
const pagesIn = (folder: string): string[] =>
  readdirSync(path.join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);

/** README.md, CONTRIBUTING.md, CHANGELOG.md, deploy/README.md, docs/*.md, and docs/decisions/*.md, as paths in the repository. */
export const documents: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'deploy/README.md',
  ...pagesIn('docs'),
  ...pagesIn('docs/decisions'),
];

export const readDocument = (name: string): string => readFileSync(path.join(root, name), 'utf8');

export interface Block {
  language: string;
  /** Line of the first line of its text, from 1. */
  line: number;
  lines: string[];
}

/** The fenced blocks of a document. */
export function fencedBlocks(markdown: string): Block[] {
  const blocks: Block[] = [];
  let open: Block | undefined;
  for (const [index, text] of markdown.split('\n').entries()) {
    if (open && text.trimEnd() === '```') open = undefined;
    else if (open) open.lines.push(text);
    else if (text.startsWith('```')) {
      open = { language: text.slice(3).trim(), line: index + 2, lines: [] };
      blocks.push(open);
    }
  }
  return blocks;
}

export interface Example {
  /** What /bin/sh is given. */
  command: string;
  /** Line of the command in the document, from 1. */
  line: number;
  /** What the document shows below it. */
  output: string[];
}

/** The commands of all console blocks: lines that begin with `$ `, and `> ` where a shell goes on (after a backslash, in a here-document). */
export function consoleExamples(markdown: string): Example[] {
  return fencedBlocks(markdown)
    .filter(({ language }) => language === 'console')
    .flatMap(({ line, lines }) => blockExamples(lines, line));
}

function blockExamples(lines: readonly string[], firstLine: number): Example[] {
  const examples: Example[] = [];
  for (const [index, text] of lines.entries()) {
    const current = examples.at(-1);
    if (text.startsWith('$ ')) examples.push({ command: text.slice(2), line: firstLine + index, output: [] });
    else if (current === undefined) throw new Error(`line ${firstLine + index}: a console block begins with a command`);
    else if (current.output.length === 0 && /\\$|<<|\n/.test(current.command) && text.startsWith('> '))
      current.command += `\n${text.slice(2)}`;
    else current.output.push(text);
  }
  return examples;
}
