/** The key for secrets that several nodes share: each of them must be able to read what another one has encrypted. */
import { AopsError, exitCodes } from '../base/errors.ts';
import { SecretBox } from './secret-box.ts';
import type { Queries, Store } from './store/database/database.ts';
import { ownSettings } from './store/database/portable/tables.ts';
import { settingOrCreate, touchSetting } from './store/database/settings.ts';

/** A key in Base64, and what to call the place that it is from. */
export interface SecretKey {
  text: string;
  source: string;
}

const settingName = ownSettings.keyCheck;
/** What is encrypted in the database to recognise the key. */
const owner = 'secret key check';

/**
 * Opens the key, and checks it against the database. The first node on a database determines the key.
 * @param key or a file, which is created if it does not exist
 * @throws AopsError `secret_key_invalid`, `secret_key_mismatch`
 */
export async function openSharedSecrets(store: Store, key: SecretKey | string): Promise<SecretBox> {
  const box = typeof key === 'string' ? await SecretBox.open(key) : boxOf(key);
  const sealedText = await settingOrCreate(store, settingName, () => box.seal('aops', owner));
  try {
    box.open(sealedText, owner);
  } catch (cause) {
    const source = typeof key === 'string' ? key : key.source;
    throw new AopsError(`${source} does not contain the key with which the secrets in the database were encrypted.`, {
      code: 'secret_key_mismatch',
      exit: exitCodes.failure,
      hint: 'Use the key of the other nodes, or restore it from a backup.',
      cause,
    });
  }
  return box;
}

/** Records which key the nodes on a database need, in the transaction that completes an import. */
export const recordSharedKey = (db: Queries, box: SecretBox): Promise<void> => touchSetting(db, settingName, box.seal('aops', owner));

function boxOf({ text, source }: SecretKey): SecretBox {
  const box = SecretBox.of(text);
  if (box !== undefined) return box;
  throw new AopsError(`${source} does not contain a valid key: it must be 32 bytes in Base64.`, {
    code: 'secret_key_invalid',
    exit: exitCodes.failure,
    hint: 'Use the key of the other nodes. For the first node, create one with `openssl rand -base64 32`.',
  });
}
