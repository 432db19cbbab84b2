import { defineCommand } from '../../cli/kit/command.ts';
import { argument, toggle } from '../../cli/kit/flags.ts';
import { documentOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { parseRunName } from '../../cli/names/run-names.ts';
import { alignSteps, answerChanges, fieldChanges, fileChanges, revisionChanges, usageChanges } from '../../cli/run-record/compare.ts';
import { recordOperations } from '../../cli/run-record/read.ts';
import { comparedName, readComparedRun } from '../../cli/run-record/read-compared.ts';
import { fileOperations, readFiles } from '../../cli/run-record/sandbox-files.ts';
import { type RunDifference, renderRunDiff } from './diff-sheet.ts';

const run = (which: string) =>
  argument(`The ${which} run: its number, its ID, or @latest`, {
    complete: 'runs',
    check: (value) => {
      parseRunName(value);
      return value;
    },
  });

const step = { number: 'integer', kind: 'tool|request', at: 'date-time', title: 'string', status: 'string', outcome: 'string' } as const;

export default defineCommand({
  summary: 'Compare two runs: inputs, outcome, steps, answers, and files',
  description:
    'Steps are calls of tools and human requests. They are aligned where both runs did the same, so the first difference shows where the runs diverged. The texts that agents write are not compared. Files in the sandboxes are compared by their hashes; --no-files leaves them out.\n\nThe exit code is 0 whether or not there are differences. In JSON, `same` is true if the runs differ only in their times and usage.',
  arguments: { before: run('first'), after: run('second') },
  options: { files: toggle('Compare the files in the sandboxes (default: yes)') },
  operations: [...recordOperations, ...fileOperations],
  examples: [
    { command: 'aops runs diff @latest~1 @latest', text: 'Compare the two newest runs' },
    { command: 'aops runs diff 12 17 --no-files', text: 'Compare two runs without reading their files' },
    { command: "aops runs diff 12 17 --jq '.first_divergence'", text: 'Print where two runs diverged' },
  ],
  result: returns({
    same: 'boolean',
    before: { id: 'uuid', number: 'integer|null', status: 'string' },
    after: { id: 'uuid', number: 'integer|null', status: 'string' },
    fields: [{ name: 'string', before: 'any', after: 'any' }],
    usage: [{ name: 'string', before: 'any', after: 'any' }],
    procedure: { before: 'string', after: 'string' },
    config: [{ path: 'string', before: 'any', after: 'any' }],
    first_divergence: 'integer|null',
    steps: [{ change: 'same|outcome|removed|added', before: step, after: step }],
    answers: [{ title: 'string', before: 'string|null', after: 'string|null' }],
    files: [
      {
        path: 'string',
        change: 'added|removed|changed',
        size_before: 'integer|null',
        size_after: 'integer|null',
        sha256_before: 'string|null',
        sha256_after: 'string|null',
      },
    ],
    gaps: 'string[]',
  }),
  output: documentOutput<RunDifference>(renderRunDiff),
  async run(context, input): Promise<RunDifference> {
    const { signal } = context;
    const client = await context.client();
    const before = await readComparedRun(context, input.before);
    const after = await readComparedRun(context, input.after);
    const gaps: string[] = [...before.record.gaps, ...after.record.gaps];
    const filesOf = (id: string) => (input.files === false ? [] : readFiles(client, id, { signal, gaps }));
    const files = fileChanges(await filesOf(before.head.run.id), await filesOf(after.head.run.id));
    const steps = alignSteps(before.digest.steps, after.digest.steps);
    const fields = fieldChanges(before, after);
    const revision = revisionChanges(before, after);
    const answers = answerChanges(before.record.requests, after.record.requests);
    const firstDivergence = steps.findIndex(({ change }) => change !== 'same');
    const difference: RunDifference = {
      same:
        [fields, answers, files, revision.config].every((changes) => changes.length === 0) &&
        revision.procedure.before === revision.procedure.after &&
        firstDivergence < 0,
      before: comparedName(before),
      after: comparedName(after),
      fields,
      usage: usageChanges(before, after),
      ...revision,
      first_divergence: firstDivergence < 0 ? null : firstDivergence,
      steps,
      answers,
      files,
      gaps: [...new Set(gaps)],
    };
    if (difference.same) context.terminal.note('The runs differ only in their times and usage.');
    return difference;
  },
});
