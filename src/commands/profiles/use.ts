import { defineCommand } from '../../cli/kit/command.ts';
import { argument } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';

export default defineCommand({
  summary: 'Switch to a profile',
  arguments: { name: argument('The profile', { complete: 'profiles' }) },
  examples: [{ command: 'aops profiles use local', text: 'Switch to the local service' }],
  result: returns({ name: 'string', base_url: 'url', team_id: 'uuid', current: 'boolean' }),
  output: textOutput<{ name: string; base_url: string }>(({ name, base_url }) => `Using profile "${name}" (${base_url}).`),
  async run(context, input) {
    await context.store.useProfile(input.name);
    const { project } = context;
    const projectProfile = project?.settings?.profile;
    if (projectProfile !== undefined && projectProfile !== input.name)
      context.terminal.note(`In this directory, ${project?.file} still selects "${projectProfile}".`);
    return context.store.profile(input.name);
  },
});
