import { defineCommand } from '../../cli/kit/command.ts';
import { confirm } from '../../cli/kit/confirm.ts';
import { argument } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { originOf } from '../../config/base-url.ts';

export default defineCommand({
  summary: 'Delete a profile and its credential',
  arguments: { name: argument('The profile', { complete: 'profiles' }) },
  destructive: true,
  examples: [{ command: 'aops profiles delete ci --yes', text: 'Delete a profile without confirmation' }],
  result: returns({ name: 'string' }),
  output: textOutput<{ name: string }>(({ name }) => `Deleted profile "${name}".`),
  async run(context, input) {
    const { name, base_url } = context.store.profile(input.name);
    await confirm(context, `Delete profile "${name}" (${base_url}) and its credential?`);
    await context.store.removeProfile(name);
    const { dropTokens } = await import('../../client/access/token-cache.ts');
    dropTokens(context.paths.cache, originOf(base_url));
    return { name };
  },
});
