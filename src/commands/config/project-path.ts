/** The `.aops.toml` that a command names. */
import path from 'node:path';
import { UsageError } from '../../base/errors.ts';
import type { Context } from '../../cli/kit/context.ts';
import { optionalArgument } from '../../cli/kit/flags.ts';
import { projectNotFound } from '../../config/project.ts';
import { projectFileName } from '../../config/project-file.ts';

export const projectFileArgument = optionalArgument('The file, or its folder (default: the file that applies here)', { complete: 'files' });

/** The absolute path. @throws AopsError `project_file_not_found`, UsageError for a file with another name, which would never be used */
export function projectPath({ project, cwd }: Context, file: string | undefined): string {
  if (file === undefined) {
    if (project === undefined) throw projectNotFound(`in ${cwd} or above it`);
    return project.file;
  }
  const absolute = path.resolve(cwd, file);
  if (path.basename(absolute) === projectFileName) return absolute;
  if (path.extname(absolute) === '.toml') throw new UsageError(`${file} is not called ${projectFileName}, so it would never be used.`);
  return path.join(absolute, projectFileName);
}
