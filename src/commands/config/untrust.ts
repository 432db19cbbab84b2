import { exitCodes } from '../../base/errors.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { untrustProject } from '../../config/project.ts';
import { projectFileArgument, projectPath } from './project-path.ts';

interface UntrustedFile {
  file: string;
  was_trusted: boolean;
}

export default defineCommand({
  summary: 'Ignore the settings in a .aops.toml again',
  arguments: { file: projectFileArgument },
  exits: [exitCodes.notFound],
  examples: [{ command: 'aops config untrust', text: 'Ignore the file of this directory' }],
  result: returns({ file: 'string', was_trusted: 'boolean' }),
  output: textOutput<UntrustedFile>(({ file, was_trusted }) =>
    was_trusted ? `${file} is now ignored.` : `${file} was not trusted, so it is ignored anyway.`,
  ),
  async run(context, input) {
    const file = projectPath(context, input.file);
    return { file, was_trusted: await untrustProject(file, context.store) };
  },
});
