import { AopsError, exitCodes } from '../../base/errors.ts';
import { defineCommand } from '../define.ts';
import { textOutput } from '../output.ts';

export default defineCommand({
  summary: 'Forget the credential of a profile',
  description: 'The profile stays, with its address and team. A key in the environment is not affected.',
  examples: [{ command: 'aops auth logout --profile ci', text: 'Forget what was saved for "ci"' }],
  output: textOutput<{ profile: string; removed: boolean }>(({ profile, removed }) =>
    removed ? `Signed out of profile "${profile}".` : `Profile "${profile}" had no credential.`,
  ),
  async run(context) {
    const profile = context.config().profile.value;
    if (profile === undefined)
      throw new AopsError('There is no profile to sign out of.', {
        code: 'profile_not_found',
        exit: exitCodes.notFound,
        hint: 'See `aops profiles list`.',
      });
    return { profile, removed: await context.store.removeCredential(profile) };
  },
});
