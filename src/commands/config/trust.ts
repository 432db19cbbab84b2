import { exitCodes } from '../../base/errors.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { trustProject } from '../../config/project.ts';
import { projectFileArgument, projectPath } from './project-path.ts';

interface TrustedFile {
  file: string;
  profile: string | null;
  team: string | null;
  agent: string | null;
}

export default defineCommand({
  summary: 'Use the settings in a .aops.toml',
  description:
    'A .aops.toml selects a profile, a team, and an agent for its directory and everything below it. It is used only after you have trusted it; if its content changes, or the directory moves, it is ignored until you trust it again. It cannot contain an address or a credential.',
  arguments: { file: projectFileArgument },
  exits: [exitCodes.notFound],
  examples: [
    { command: 'aops config trust', text: 'Trust the file of this directory, and show what it sets' },
    { command: 'aops config trust ../other', text: 'Trust the file of another directory' },
  ],
  result: returns({ file: 'string', profile: 'string|null', team: 'string|null', agent: 'string|null' }),
  output: textOutput<TrustedFile>(({ file, ...settings }) => {
    const lines = Object.entries(settings).flatMap(([key, value]) => (value === null ? [] : [`  ${key} = ${JSON.stringify(value)}`]));
    return [`Trusted ${file}. It ${lines.length === 0 ? 'sets nothing yet.' : 'sets:'}`, ...lines].join('\n');
  }),
  async run(context, input) {
    const file = projectPath(context, input.file);
    const { profile = null, team = null, agent = null } = await trustProject(file, context.store);
    return { file, profile, team, agent };
  },
});
