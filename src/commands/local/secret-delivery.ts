/** Delivers a new secret: to a profile, a file that only its owner can read, or the output. It is shown only once, so one is required. */
import { constants } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import path from 'node:path';
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { writeFailure } from '../../base/write-failure.ts';
import type { Context } from '../../cli/kit/context.ts';
import { flag, text } from '../../cli/kit/flags.ts';
import { checkProfileName } from '../../config/settings.ts';
import type { Credential } from '../../config/store.ts';

export const deliveryOptions = {
  saveProfile: text('NAME', 'Save the secret in a new profile'),
  to: text('FILE', 'Write the secret to this new file, which only you can read', { complete: 'files' }),
  reveal: flag('Print the secret'),
};

interface DeliveryInput {
  saveProfile: string | undefined;
  to: string | undefined;
  reveal: boolean;
}

/** A new secret, and what a profile needs in addition. */
interface IssuedCredential {
  secret: string;
  /** The command that revokes it. */
  revoke: string;
  teamId: string;
  credential: Credential;
  /** Where clients reach the service. */
  baseUrl: string;
}

/** Where a secret went. */
export interface Delivery {
  profile?: string;
  file?: string;
}

/**
 * Checks the destination of the secret, creates the secret and delivers it. Without a destination, nothing is created.
 * @throws UsageError when there is no destination or it exists already
 */
export async function deliver<Result extends IssuedCredential>(
  context: Context,
  { saveProfile, to, reveal }: DeliveryInput,
  issue: () => Promise<Result>,
): Promise<Result & { delivery: Delivery }> {
  if (saveProfile === undefined && to === undefined && !reveal) {
    throw new UsageError(
      'The secret is shown only once, so it needs a destination.',
      'Pass --save-profile NAME to use it here, --to FILE to save it in a file, or --reveal to print it.',
    );
  }
  if (saveProfile === undefined && to === undefined && context.format === 'id') {
    throw new UsageError('With -o id the secret would not be printed, and it is shown only once.', 'Add --to FILE, or print it with --jq.');
  }
  if (saveProfile !== undefined) requireNewProfile(context, saveProfile);
  const file = to === undefined ? undefined : path.resolve(context.cwd, to);
  const handle = file === undefined ? undefined : await create(file);
  let credential: Result | undefined;
  let written = false;
  try {
    credential = await issue();
    context.terminal.protect(credential.secret);
    await handle?.writeFile(`${credential.secret}\n`);
    await handle?.sync();
    written = handle !== undefined;
    if (saveProfile !== undefined) await saveAs(context, saveProfile, credential);
    const delivery = { ...(saveProfile === undefined ? {} : { profile: saveProfile }), ...(file === undefined ? {} : { file }) };
    return { ...credential, delivery };
  } catch (error) {
    if (file !== undefined && !written) await rm(file, { force: true });
    throw credential === undefined || written ? error : lossError(file === undefined ? error : writeFailure(error, file), credential);
  } finally {
    await handle?.close();
  }
}

/** The secret was created but could not be delivered, so its credential is useless. */
function lossError(error: unknown, { revoke }: IssuedCredential): unknown {
  if (!(error instanceof AopsError)) return error;
  const { message, code, exit, details } = error;
  const hint = `The secret is shown only once and is now lost. Revoke its credential with \`${revoke}\`, then create another one.`;
  return new AopsError(message, { code, exit, hint, details, cause: error });
}

function requireNewProfile({ store }: Context, name: string): void {
  checkProfileName(name);
  if (!store.profiles().some((profile) => profile.name === name)) return;
  throw new UsageError(`A profile called "${name}" already exists.`, 'Delete it first, or choose another name.', 'profile_exists');
}

async function create(file: string): Promise<FileHandle> {
  try {
    return await open(file, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0), 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST')
      throw new UsageError(`${file} already exists and is not overwritten.`, 'Choose another file with --to.', 'file_exists');
    throw new AopsError(`${file} cannot be written (${code ?? 'unknown error'}).`, {
      code: 'file_not_writable',
      exit: exitCodes.failure,
      hint: 'Choose another file with --to.',
      cause: error,
    });
  }
}

async function saveAs(context: Context, profile: string, { teamId, credential, baseUrl: base_url }: IssuedCredential): Promise<void> {
  await context.store.saveProfile(profile, { base_url, team_id: teamId }, credential);
}
