/** Secrets that the service encrypts, hashes, or signs. */
import { Buffer } from 'node:buffer';
import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SecretBox, UnreadableSecretError } from '../../src/service/secret-box.ts';
import { isSameHash, newSecret, secretHash } from '../../src/service/secret-hash.ts';
import { type Grant, UrlSigner } from '../../src/service/signed-urls.ts';
import { itNeeding } from '../support/requirements.ts';
import { needsSmallDisk, smallDisk } from '../support/small-disk.ts';
import { temporaryDirectory } from '../support/temporary.ts';

const keyFile = async () => join(await temporaryDirectory(), 'secrets.key');

describe('a box for secrets', () => {
  it('opens what it has sealed, also after a restart, and never seals in the same way twice', async () => {
    const file = await keyFile();
    const box = await SecretBox.open(file);
    for (const text of ['', 'x', 'schlüssel 🔑'.repeat(1_000)]) {
      const sealedText = box.seal(text, 'connection 1');
      expect(sealedText).toMatch(/^v1\.[\w-]+$/);
      expect(box.seal(text, 'connection 1')).not.toBe(sealedText);
      expect((await SecretBox.open(file)).open(sealedText, 'connection 1')).toBe(text);
    }
  });

  it('does not open what belongs to another owner or box, was changed, or has another form', async () => {
    const box = await SecretBox.open(await keyFile());
    const sealedText = box.seal('secret', 'connection 1');
    const expectRefusal = (text: string, owner = 'connection 1', secretBox = box) =>
      expect(() => secretBox.open(text, owner), text).toThrow(
        expect.objectContaining({ name: 'UnreadableSecretError', message: 'the stored secret was encrypted with another key' }),
      );
    expectRefusal(sealedText, 'connection 2');
    expectRefusal(sealedText, 'connection 1', await SecretBox.open(await keyFile()));
    for (let index = 3; index < sealedText.length - 1; index += 5)
      expectRefusal(`${sealedText.slice(0, index)}${sealedText[index] === 'A' ? 'B' : 'A'}${sealedText.slice(index + 1)}`);
    expectRefusal(`v2.${sealedText.slice(3)}`);
    for (const text of ['', 'v1.', 'secret', sealedText.slice(0, -4), `v1.${Buffer.alloc(27).toString('base64url')}`]) expectRefusal(text);
    expect(new UnreadableSecretError()).toBeInstanceOf(Error);
  });

  it('has a key that only its owner can read, and repairs its permissions', async () => {
    const file = await keyFile();
    await SecretBox.open(file);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const key = await readFile(file, 'utf8');
    expect(key).toMatch(/^[\w-]{43}\n$/);
    await chmod(file, 0o644);
    await SecretBox.open(file);
    expect([(await stat(file)).mode & 0o777, await readFile(file, 'utf8')]).toEqual([0o600, key]);
  });

  itNeeding(needsSmallDisk, 'is opened as soon as there is space for its key', async () => {
    const disk = await smallDisk(1024 * 1024);
    const file = join(disk.folder, 'key');
    await disk.fill();
    await expect(SecretBox.open(file)).rejects.toMatchObject({ code: 'ENOSPC' });
    await disk.free();
    const box = await SecretBox.open(file);
    expect((await SecretBox.open(file)).open(box.seal('secret', 'owner'), 'owner')).toBe('secret');
  });

  it('is not opened with an invalid key, or where no key can be written', async () => {
    const file = await keyFile();
    for (const key of ['', 'short', Buffer.alloc(33).toString('base64url')]) {
      await writeFile(file, key);
      await expect(SecretBox.open(file)).rejects.toMatchObject({ code: 'secret_key_invalid', exit: 1 });
      expect(await readFile(file, 'utf8')).toBe(key);
    }
    await expect(SecretBox.open(join(await temporaryDirectory(), 'missing', 'key'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('a secret that the service issues', () => {
  it('is random, has a prefix, and is compared by its hash', () => {
    const [firstToken, otherToken] = [newSecret('token'), newSecret('token')];
    expect([firstToken, otherToken]).toEqual([
      expect.stringMatching(/^aops_token_[\w-]{43}$/),
      expect.stringMatching(/^aops_token_[\w-]{43}$/),
    ]);
    expect(firstToken).not.toBe(otherToken);
    expect(isSameHash(secretHash(firstToken), secretHash(firstToken))).toBe(true);
    expect(isSameHash(secretHash(firstToken), secretHash(otherToken))).toBe(false);
    for (const hash of ['', secretHash(firstToken).slice(1), `${secretHash(firstToken)}0`])
      expect(isSameHash(hash, secretHash(firstToken)), hash).toBe(false);
  });
});

describe('a signed URL', () => {
  const signer = new UrlSigner(Buffer.alloc(32, 1).toString('base64url'));
  const grant: Grant = { kind: 'upload', sandboxId: 's', path: 'a.txt' };
  const { token, expiresAt } = signer.sign(grant, 1_000);
  const expectRefusal = (text: string, error: string, tokenSigner = signer, now = 1_000) =>
    expect(() => tokenSigner.verify(text, now), text).toThrow(expect.objectContaining({ status: 403, error }));

  it('allows exactly what was signed until it expires', () => {
    expect(expiresAt).toBe(901_000);
    expect(signer.verify(token, 900_999)).toEqual(grant);
    expectRefusal(token, 'url_expired', signer, 901_000);
  });

  it('allows nothing if it was changed or signed with another key', () => {
    const [payload = '', signature = ''] = token.split('.');
    const otherPayload = Buffer.from(JSON.stringify({ ...grant, path: 'b.txt', expiresAt })).toString('base64url');
    for (const text of [
      '',
      '.',
      payload,
      `${payload}.`,
      `.${signature}`,
      `${token}.`,
      `${token}.more`,
      `${otherPayload}.${signature}`,
      `${payload}.${signature.slice(1)}`,
      `${payload}.${'A'.repeat(signature.length)}`,
    ])
      expectRefusal(text, 'invalid_signature');
    expectRefusal(token, 'invalid_signature', new UrlSigner(Buffer.alloc(32, 2).toString('base64url')));
  });
});
