/** What mutation testing works on: source files, the lines of them that changed, and test files. */
import { spawnSync } from 'node:child_process';

function git(root, ...argv) {
  const { status, stdout, stderr } = spawnSync('git', argv, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  if (status !== 0) throw new Error(`git ${argv.join(' ')}: ${stderr}`);
  return stdout.split('\n').filter((line) => line !== '');
}

const listFiles = (root, paths) => git(root, 'ls-files', '--cached', '--others', '--exclude-standard', '--', ...paths);
/** The script of the team page runs in a browser, and the programs of threads are bundled before the tests: no switch reaches them. */
const isMutable = (file) =>
  file.startsWith('src/') && file.endsWith('.ts') && !file.endsWith('.d.ts') && !file.startsWith('src/service/page/team-page/');

/** The source files in files and folders. */
export const sourceFiles = (root, paths) => listFiles(root, paths).filter(isMutable);

/** The lines that differ from `main`, as a filter of mutants with the files that they are in. */
export function changedLines(root) {
  const lines = new Map();
  let file;
  for (const line of git(root, 'diff', '--unified=0', '--no-color', 'main', '--', 'src')) {
    if (line.startsWith('+++ ')) file = line.slice('+++ b/'.length);
    const hunk = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (!hunk || !isMutable(file)) continue;
    const [first, count] = [Number(hunk[1]), Number(hunk[2] ?? 1)];
    const changedLines = lines.get(file) ?? new Set();
    for (let number = first; number < first + count; number += 1) changedLines.add(number);
    lines.set(file, changedLines);
  }
  return Object.assign((mutant) => lines.get(mutant.file)?.has(mutant.line) ?? false, { files: [...lines.keys()] });
}

/** The folders of the tests of a source. Commands, and what they build on, are tested together. */
function foldersOfTests(source) {
  const [, top, folder] = source.split('/');
  if (top === 'commands') return ['commands'];
  if (top === 'cli') return ['cli', 'commands'];
  return [top === 'service' ? top : `${top}/${folder}`];
}

/**
 * The test files to try: those that were named, otherwise those of the folders that mirror the sources, and those that test several
 * parts together. Tests that start the binary run the bundle, which has no switches.
 */
export function testFiles(root, sources, namedFiles) {
  const isTest = (file) => file.endsWith('.test.ts') && !/^test\/(e2e|docs)\//.test(file);
  if (namedFiles.length > 0) return listFiles(root, namedFiles).filter(isTest);
  const folders = new Set(sources.flatMap(foldersOfTests));
  return listFiles(root, ['test']).filter(
    (file) => isTest(file) && (/^test\/(faults|prompts)\//.test(file) || [...folders].some((folder) => file.startsWith(`test/${folder}`))),
  );
}
