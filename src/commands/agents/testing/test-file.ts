/** Reads test files: their content, the files that they refer to, and everything that is wrong with them. */
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { parseDuration } from '../../../base/duration.ts';
import { UsageError } from '../../../base/errors.ts';
import { pluralize } from '../../../base/pluralize.ts';
import { decodeText, fileProblem, readBytes, readText } from '../../../cli/input/body.ts';
import { folderEntries } from '../../../cli/input/folder-entries.ts';
import type { Context } from '../../../cli/kit/context.ts';
import type { Finding } from '../../../service/service.ts';
import { type AnswersFile, readAnswers } from '../../../watch/answers.ts';
import { type ContentRules, patternOf, rulesOf } from './matching.ts';
import { type AgentTest, type FileRule, type MessageRule, TestFile } from './schema.ts';

const fileName = /\.test\.(ya?ml|json)$/;
/** Folders in which no tests are searched for. */
const skippedFolders = new Set(['node_modules', '.git']);

/** A test together with where it is. */
export interface PlacedTest {
  test: AgentTest;
  line: number;
  answers: AnswersFile;
}

export interface LoadedTestFile {
  /** As shown to people: relative to the current folder. */
  name: string;
  /** The folder to which its paths are relative. */
  folder: string;
  agent: TestFile['agent'];
  /** The default of its tests; milliseconds. */
  timeout: number | undefined;
  tests: PlacedTest[];
  /** Contents of the files that tests refer to, by the path in the test file. */
  fixtures: ReadonlyMap<string, Buffer>;
}

/**
 * The test files at these paths, in order of their names; folders are searched.
 * @throws UsageError for a path that does not exist or cannot be read, or if there are no test files
 */
export async function findTestFiles({ cwd }: Pick<Context, 'cwd'>, places: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  for (const place of places) {
    const whole = path.resolve(cwd, place);
    const stats = await stat(whole).catch((error: NodeJS.ErrnoException) => {
      throw new UsageError(fileProblem(place, error));
    });
    if (!stats.isDirectory()) found.add(whole);
    else for (const file of await filesBelow(whole, cwd)) found.add(file);
  }
  if (found.size > 0) return [...found];
  throw new UsageError(
    `There are no test files in ${places.map((place) => (place === '.' ? 'this folder' : place)).join(', ')}.`,
    'Their names end in .test.yaml. `aops agents init` writes an agent with tests.',
  );
}

async function filesBelow(folder: string, cwd: string): Promise<string[]> {
  const files: string[] = [];
  for (const entry of await folderEntries(folder, cwd)) {
    const whole = path.join(folder, entry.name);
    if (entry.isDirectory() && !skippedFolders.has(entry.name)) files.push(...(await filesBelow(whole, cwd)));
    else if (entry.isFile() && fileName.test(entry.name)) files.push(whole);
  }
  return files;
}

/** @throws UsageError that lists every problem with its file and line */
export async function loadTestFile(context: Context, file: string): Promise<LoadedTestFile> {
  const name = path.relative(context.cwd, file) || file;
  const { documentCheck } = await import('../../../service/service.ts');
  const document = documentCheck<TestFile>(TestFile, 'the test file', findings)(await readText(context, file));
  if (document.problems.length > 0) {
    const problems = document.problems.map(({ line, column, message }) => `${name}:${line}:${column}: ${message}`);
    throw new UsageError(
      [`The test file has ${pluralize(problems.length, 'error')}:`, ...problems].join('\n'),
      'The format is explained in docs/testing-agents.md.',
      'invalid_test_file',
    );
  }
  const content = document.value as TestFile;
  const folder = path.dirname(file);
  return {
    name,
    folder,
    agent: content.agent,
    timeout: content.timeout === undefined ? undefined : parseDuration(content.timeout),
    tests: content.tests.map((test, index) => ({
      test,
      line: document.lineOf(['tests', index]),
      answers: readAnswers({ approvals: test.approvals, answers: test.answers }, name),
    })),
    fixtures: await readFixtures(context, content, (paths) => `${name}:${document.lineOf(paths)}`, folder),
  };
}

/** What the schema cannot express. */
function findings({ version, tests }: TestFile): Finding[] {
  const problems: Finding[] = [];
  // The check of the structure leaves constants to the rules.
  if ((version as number) !== 1) problems.push({ message: '`version` must be 1', path: ['version'] });
  for (const [index, test] of tests.entries()) {
    const at = ['tests', index];
    if (tests.findIndex(({ name }) => name === test.name) < index)
      problems.push({ message: `the name \`${test.name}\` appears twice`, path: [...at, 'name'] });
    if (test.files !== undefined && test.repository !== undefined)
      problems.push({
        message: '`files` and `repository` exclude each other; put the files into the repository',
        path: [...at, 'files'],
        onKey: true,
      });
    for (const key of ['message', 'files', 'repository'] as const)
      if (test.case !== undefined && test[key] !== undefined)
        problems.push({ message: `\`case\` and \`${key}\` exclude each other: the case starts the run`, path: [...at, key], onKey: true });
    if (test.case === undefined && test.expect?.case !== undefined)
      problems.push({ message: '`case` is expected, but the test has no `case`', path: [...at, 'expect', 'case'], onKey: true });
    for (const key of ['files', 'expect.files'])
      for (const file of Object.keys((key === 'files' ? test.files : test.expect?.files) ?? {}))
        if (!isInside(file))
          problems.push({
            message: `\`${file}\` must be a path inside the workspace, such as reports/today.md`,
            path: [...at, ...key.split('.'), file],
            onKey: true,
          });
    problems.push(...patternFindings(test, at));
  }
  return problems;
}

const isInside = (file: string): boolean => file !== '' && !path.posix.isAbsolute(file) && !file.split('/').includes('..');

/** Regular expressions that cannot be used, and rules that say nothing. */
function patternFindings({ expect = {} }: AgentTest, at: readonly (string | number)[]): Finding[] {
  const rules: [MessageRule | FileRule, (string | number)[]][] = [
    ...(expect.error === undefined ? [] : [[expect.error, ['error']] as [MessageRule, string[]]]),
    ...(expect.case?.reason === undefined ? [] : [[expect.case.reason, ['case', 'reason']] as [MessageRule, string[]]]),
    ...(['messages', 'no_messages'] as const).flatMap((key) =>
      (expect[key] ?? []).map((rule, index): [MessageRule, (string | number)[]] => [rule, [key, index]]),
    ),
    ...Object.entries(expect.files ?? {}).map(([file, rule]): [FileRule, string[]] => [rule, ['files', file]]),
  ];
  return rules.flatMap(([rule, place]): Finding[] => {
    const where = [...at, 'expect', ...place];
    if (Object.keys(rulesOf(rule)).length === 0)
      return [{ message: 'this expects nothing; write a text, or a rule such as `contains`', path: where }];
    const { matches } = rulesOf(rule) as ContentRules;
    if (matches === undefined) return [];
    try {
      patternOf(matches);
      return [];
    } catch (error) {
      return [{ message: `\`matches\` is not a regular expression: ${(error as Error).message}`, path: [...where, 'matches'] }];
    }
  });
}

/** The contents of `from` and `same_as`. @throws UsageError naming the line that refers to a file that cannot be read */
async function readFixtures(
  context: Context,
  { tests }: TestFile,
  place: (path: (string | number)[]) => string,
  folder: string,
): Promise<Map<string, Buffer>> {
  const fixtures = new Map<string, Buffer>();
  for (const [index, { files = {}, repository, expect }] of tests.entries()) {
    const references = [
      ...Object.entries(files).map(([file, source]) => [typeof source === 'string' ? undefined : source.from, ['files', file]] as const),
      ...Object.entries(expect?.files ?? {}).map(
        ([file, rule]) => [typeof rule === 'string' ? undefined : rule.same_as, ['expect', 'files', file]] as const,
      ),
    ];
    for (const [reference, keys] of references)
      if (reference !== undefined)
        fixtures.set(reference, await readReference(context, path.resolve(folder, reference), place(['tests', index, ...keys])));
    if (repository === undefined) continue;
    const isFolder = await stat(path.resolve(folder, repository)).then(
      (stats) => stats.isDirectory(),
      () => false,
    );
    if (!isFolder) throw new UsageError(`${place(['tests', index, 'repository'])}: there is no folder ${repository}.`);
  }
  return fixtures;
}

async function readReference(context: Context, file: string, place: string): Promise<Buffer> {
  try {
    return await readBytes(context, file);
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(`${place}: ${error.message}`) : error;
  }
}

/** The text of a file of the agent, with the name that messages use. @throws UsageError */
export async function readAgentFile(
  { cwd }: Pick<Context, 'cwd'>,
  file: LoadedTestFile,
  relative: string,
): Promise<{ name: string; text: string }> {
  const whole = path.resolve(file.folder, relative);
  const name = path.relative(cwd, whole);
  const bytes = await readFile(whole).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${file.name}: ${fileProblem(name, error)}`);
  });
  return { name, text: decodeText(bytes, name) };
}
