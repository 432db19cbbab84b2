/**
 * Encrypts secrets that have to be read again, such as headers and tokens of connections. The key is next to the database and not in
 * it, so that a copy of the database alone, such as the one before a migration, does not reveal them.
 */
import { Buffer } from 'node:buffer';
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { chmod, readFile } from 'node:fs/promises';
import { createFile } from '../base/create-file.ts';
import { AopsError, exitCodes } from '../base/errors.ts';

const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
/** The prefix of sealed texts; a different format would get a different prefix. */
const form = 'v1.';

/** A sealed text cannot be read: the key is a different one, or the text was changed. */
export class UnreadableSecretError extends Error {
  constructor() {
    super('the stored secret was encrypted with another key');
    this.name = 'UnreadableSecretError';
  }
}

export class SecretBox {
  readonly #key: Buffer;

  private constructor(key: Buffer) {
    this.#key = key;
  }

  /** Opens a box with the key in a file, which is created if it does not exist. @throws AopsError `secret_key_invalid` */
  static async open(file: string): Promise<SecretBox> {
    const newKey = randomBytes(keyBytes).toString('base64url');
    const isNew = await createFile(file, `${newKey}\n`, 0o600);
    if (!isNew) await chmod(file, 0o600);
    const box = SecretBox.of(isNew ? newKey : await readFile(file, 'utf8'));
    if (box !== undefined) return box;
    throw new AopsError(`${file} does not contain a valid key.`, {
      code: 'secret_key_invalid',
      exit: exitCodes.failure,
      hint: 'Restore the file from a backup, or remove it and enter the secrets of connections again.',
    });
  }

  /** A box with a new key, which nothing else can open. */
  static create(): SecretBox {
    return new SecretBox(randomBytes(keyBytes));
  }

  /** A box with a key in Base64; undefined if it is not a key of 32 bytes. */
  static of(text: string): SecretBox | undefined {
    const key = Buffer.from(text.trim(), 'base64url');
    return key.length === keyBytes && /^[\w+/-]+=?$/.test(text.trim()) ? new SecretBox(key) : undefined;
  }

  /** Recognises the key, and reveals nothing about it: the key consists of random bytes. In hex. */
  get fingerprint(): string {
    return createHmac('sha256', this.#key).update('aops secret key').digest('hex');
  }

  /** Encrypts a text (AES-256-GCM). @param owner what the text belongs to; it can only be opened with the same owner */
  seal(text: string, owner: string): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(owner));
    const sealedBytes = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return form + sealedBytes.toString('base64url');
  }

  /** @throws UnreadableSecretError */
  open(sealedText: string, owner: string): string {
    try {
      const bytes = Buffer.from(sealedText.slice(form.length), 'base64url');
      if (!sealedText.startsWith(form) || bytes.length < nonceBytes + tagBytes) throw new UnreadableSecretError();
      const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes });
      decipher.setAAD(Buffer.from(owner)).setAuthTag(bytes.subarray(-tagBytes));
      return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()]).toString('utf8');
    } catch {
      throw new UnreadableSecretError();
    }
  }
}
