/** The key for secrets that several nodes share: each of them must be able to read what another one has encrypted. */
import { AopsError, exitCodes } from '../base/errors.ts';
import { SecretBox } from './secret-box.ts';
import type { Store } from './store/database/database.ts';
import { settingOrCreate } from './store/database/settings.ts';

/** What is encrypted in the database to recognise the key. */
const owner = 'secret key check';

/**
 * Opens the key in a file, which is created if it does not exist, and checks it against the database. The first node on a database
 * determines the key.
 * @throws AopsError `secret_key_invalid`, `secret_key_mismatch`
 */
export async function openSharedSecrets(store: Store, file: string): Promise<SecretBox> {
  const box = await SecretBox.open(file);
  const sealedText = await settingOrCreate(store, 'secret_key_check', () => box.seal('aops', owner));
  try {
    box.open(sealedText, owner);
  } catch (cause) {
    throw new AopsError(`${file} does not contain the key with which the secrets in the database were encrypted.`, {
      code: 'secret_key_mismatch',
      exit: exitCodes.failure,
      hint: 'Copy the key file of another node, or restore it from a backup.',
      cause,
    });
  }
  return box;
}
