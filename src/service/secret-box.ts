/**
 * Secrets that have to be read again, such as headers and tokens of connections: encrypted with a key that is next to the database
 * and not in it, so that a copy of the database alone, such as the one before a migration, tells nothing.
 */
import { Buffer } from 'node:buffer';
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { AopsError, exitCodes } from '../base/errors.ts';
import { hasCode } from './sandbox/paths.ts';

const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
/** What sealed texts begin with; another form later gets another. */
const form = 'v1.';

/** What was sealed cannot be read: its key is another one now, or it was changed. */
export class UnreadableSecretError extends Error {
  constructor() {
    super('what is stored was encrypted with another key');
    this.name = 'UnreadableSecretError';
  }
}

export class SecretBox {
  readonly #key: Buffer;

  private constructor(key: Buffer) {
    this.#key = key;
  }

  /** With the key in a file, which is made when it is not there. @throws AopsError `secret_key_invalid` */
  static async open(file: string): Promise<SecretBox> {
    const made = randomBytes(keyBytes).toString('base64url');
    const mine = await writeFile(file, `${made}\n`, { mode: 0o600, flag: 'wx' }).then(
      () => true,
      (error: unknown) => {
        if (hasCode(error, 'EEXIST')) return false;
        throw error;
      },
    );
    if (!mine) await chmod(file, 0o600);
    const key = Buffer.from(mine ? made : (await readFile(file, 'utf8')).trim(), 'base64url');
    if (key.length === keyBytes) return new SecretBox(key);
    throw new AopsError(`${file} holds no key.`, {
      code: 'secret_key_invalid',
      exit: exitCodes.failure,
      hint: 'Put back the one from a backup, or remove the file; secrets of connections have to be given again then.',
    });
  }

  /** The text, encrypted (AES-256-GCM). @param owner what it belongs to: it opens for nobody else */
  seal(text: string, owner: string): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(owner));
    const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return form + sealed.toString('base64url');
  }

  /** @throws UnreadableSecretError */
  open(sealed: string, owner: string): string {
    try {
      const bytes = Buffer.from(sealed.slice(form.length), 'base64url');
      if (!sealed.startsWith(form) || bytes.length < nonceBytes + tagBytes) throw new UnreadableSecretError();
      const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes });
      decipher.setAAD(Buffer.from(owner)).setAuthTag(bytes.subarray(-tagBytes));
      return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()]).toString('utf8');
    } catch {
      throw new UnreadableSecretError();
    }
  }
}
