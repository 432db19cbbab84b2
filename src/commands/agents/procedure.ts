/** Procedures: files on the way to the service, and its complaints on the way back. */
import { UsageError } from '../../base/errors.ts';
import { ServiceAnswerError } from '../../client/errors.ts';
import type { RevisionConfig } from '../../interface/types.ts';

/** The configuration of a revision that runs `procedure` with `runtime`. */
export function revisionConfig(procedure: string, runtime: string): RevisionConfig {
  return {
    version: 'v2',
    // The interface asks for a browsing model; runtimes that do not browse leave it alone.
    data: { models: { agent: { model: runtime }, browsing: { provider: 'anthropic', model: 'none' } }, input: procedure },
  };
}

/** Names file and line of each mistake when the service rejects a procedure; other failures pass as they are. */
export async function explainProcedure<Result>(file: string, call: Promise<Result>): Promise<Result> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof ServiceAnswerError) || error.code !== 'invalid_procedure') throw error;
    const problems = error.problems.map(
      ({ message, line, column }) =>
        `${file}${line === undefined ? '' : `:${line}${column === undefined ? '' : `:${column}`}`}: ${message}`,
    );
    throw new UsageError(
      [`The procedure has ${problems.length === 1 ? 'a mistake' : `${problems.length} mistakes`}:`, ...problems].join('\n'),
      'Nothing was changed. The guide to procedures is docs/procedures.md.',
      error.code,
    );
  }
}
