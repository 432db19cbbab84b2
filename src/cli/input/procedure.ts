/** Procedures: the configuration sent to the service, and its validation errors. */
import { UsageError } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';
import { ServiceAnswerError } from '../../client/errors.ts';
import type { Build, RevisionConfig } from '../../interface/types.ts';

/** The configuration of a revision that runs `procedure` with `runtime`. */
export function revisionConfig(procedure: string, runtime: string): RevisionConfig {
  return {
    version: 'v2',
    // The interface requires a browsing model; runtimes that do not browse ignore it.
    data: { models: { agent: { model: runtime }, browsing: { provider: 'anthropic', model: 'none' } }, input: procedure },
  };
}

/** The configuration of a revision with another procedure: its files, skills, options and models stay the same. */
export function changedConfig(config: Build['config'] | undefined, procedure: string, runtime: string | undefined): RevisionConfig {
  if (config?.version !== 'v2') return revisionConfig(procedure, runtime ?? 'script');
  const { data } = config as unknown as RevisionConfig;
  const agent = runtime === undefined ? data.models.agent : { ...data.models.agent, model: runtime };
  return { version: 'v2', data: { ...data, models: { ...data.models, agent }, input: procedure } };
}

/** @throws UsageError for a runtime without a procedure */
export function checkRuntime({ procedure, runtime }: { procedure: string | undefined; runtime: string | undefined }): void {
  if (runtime !== undefined && procedure === undefined) throw new UsageError('--runtime can only be used with --procedure.');
}

/** Reports the file and line of each error when the service rejects a procedure; other failures are passed on unchanged. */
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
      [`The procedure has ${pluralize(problems.length, 'error')}:`, ...problems].join('\n'),
      'Nothing was changed. See `aops help procedures`.',
      error.code,
    );
  }
}
