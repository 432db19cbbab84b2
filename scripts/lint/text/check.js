#!/usr/bin/env node
/**
 * Checks what people read: `node scripts/lint/text/check.js [PATH ...]`, part of `npm run lint`. Rejects phrases that are not plain English
 * (phrases.js) in sources and documents, and long lines in Markdown. Lint plugins see neither comments nor Markdown, so this is a script.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { findLongLines, maxColumns } from './long-lines.js';
import { findPhrases } from './phrases.js';

/** What is checked without arguments: what is written by hand. */
const checkedPaths = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'docs', 'examples', 'src', 'test', 'scripts', 'bench', 'bin'];

/** Generated from texts that are checked themselves. */
const generatedPaths = ['docs/manual', 'docs/interface.md', 'dist'];

const isText = (file) => /\.(?:ts|js|mjs|md|css|html|ya?ml|grit)$/.test(file);

/** The files at or below a path, sorted. */
function filesIn(place) {
  if (generatedPaths.includes(place) || path.posix.basename(place) === 'node_modules') return [];
  if (!statSync(place).isDirectory()) return [place];
  return readdirSync(place)
    .sort()
    .flatMap((name) => filesIn(path.posix.join(place, name)));
}

const places = process.argv.length > 2 ? process.argv.slice(2) : checkedPaths;
const problems = places
  .flatMap(filesIn)
  .filter(isText)
  .flatMap((file) => {
    const text = readFileSync(file, 'utf8');
    const longLines = file.endsWith('.md') ? findLongLines(text) : [];
    return [
      ...findPhrases(text).map(({ line, phrase, instead }) => `${file}:${line}: "${phrase}" is not plain English; write: ${instead}`),
      ...longLines.map((line) => `${file}:${line}: more than ${maxColumns} columns; break the line`),
    ];
  });
for (const problem of problems) console.error(problem);
if (problems.length > 0) {
  console.error(
    `\n${problems.length} found. To quote a phrase, put a comment with "phrases-ignore" above it (CONTRIBUTING.md, "Style guide").`,
  );
  process.exitCode = 1;
}
