import { AopsError, exitCodes } from '../../base/errors.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { originOf } from '../../config/base-url.ts';

interface SignedOut {
  profile: string;
  removed: boolean;
  /** How many stored access tokens for its service were deleted. */
  tokens_removed: number;
}

export default defineCommand({
  summary: 'Sign out of a profile',
  description:
    'Deletes the saved credential and the access tokens for its service. The profile keeps its address and team. Credentials in the environment are not affected.',
  examples: [{ command: 'aops auth logout --profile ci', text: 'Delete the credential of the profile "ci"' }],
  result: returns({ profile: 'string', removed: 'boolean', tokens_removed: 'integer' }),
  output: textOutput<SignedOut>(({ profile, removed }) =>
    removed ? `Signed out of profile "${profile}".` : `Profile "${profile}" had no credential.`,
  ),
  async run(context): Promise<SignedOut> {
    const profile = context.config().profile.value;
    if (profile === undefined)
      throw new AopsError('There is no profile to sign out of.', {
        code: 'profile_not_found',
        exit: exitCodes.notFound,
        hint: 'List the profiles with `aops profiles list`.',
      });
    const origins = originsOf(context, profile);
    const isRemoved = await context.store.removeCredential(profile);
    const { dropTokens } = await import('../../client/access/token-cache.ts');
    const tokenRemovals = origins.map((origin) => dropTokens(context.paths.cache, origin));
    return { profile, removed: isRemoved, tokens_removed: tokenRemovals.reduce((sum, count) => sum + count, 0) };
  },
});

/** The origins that its credential was sent to: the current one, and the one it was saved for. */
function originsOf({ store }: Context, profile: string): string[] {
  const origins = new Set([originOf(store.profile(profile).base_url)]);
  try {
    const savedOrigin = store.credential(profile)?.origin;
    if (savedOrigin !== undefined) origins.add(savedOrigin);
  } catch {
    // A damaged entry is deleted as well.
  }
  return [...origins];
}
