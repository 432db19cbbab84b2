import { expect, it } from 'vitest';
import { areBrowserKeys, encryptPush, maxPayloadBytes } from '../../../../src/service/engine/push/encryption.ts';

const bytes = (text: string) => Buffer.from(text, 'base64url');
const keys = {
  p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
  auth: 'BTBZMqHH6r4Tts7J_aSIgg',
};

it('encrypts the example of RFC 8291', () => {
  const body = encryptPush(Buffer.from('When I grow up, I want to be a watermelon'), keys, {
    privateKey: bytes('yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw'),
    salt: bytes('DGv6ra1nlYgDCS1FRnbzlw'),
  });
  expect(body.toString('base64url')).toBe(
    'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
  );
});

it('uses a new key for each push, and refuses what does not fit into a record', () => {
  const payload = Buffer.alloc(maxPayloadBytes);
  const [first, second] = [encryptPush(payload, keys), encryptPush(payload, keys)];
  expect(first.length).toBe(4_096);
  expect(first.subarray(21, 86).equals(second.subarray(21, 86))).toBe(false);
  expect(() => encryptPush(Buffer.alloc(maxPayloadBytes + 1), keys)).toThrow(RangeError);
});

it.each([
  ['the keys of a browser', keys, true],
  ['a public key that is too short', { ...keys, p256dh: keys.p256dh.slice(0, 40) }, false],
  ['a point that is not on the curve', { ...keys, p256dh: `${keys.p256dh.slice(0, -2)}AA` }, false],
  ['a secret that is too short', { ...keys, auth: 'BTBZMqHH6r4' }, false],
])('checks %s', (_, value, isValid) => expect(areBrowserKeys(value)).toBe(isValid));
