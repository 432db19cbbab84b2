import { createHmac, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { secretKey, verifyDelivery } from '../../../src/client/webhooks/signature.ts';

const secret = `whsec_${randomBytes(32).toString('base64')}`;
const key = secretKey(secret, 'it');
const now = Date.parse('2026-07-18T09:00:00.000Z');
const seconds = now / 1_000;

/** A delivery signed by the reference library. */
function signHeaders(body: string, { id = 'msg_1', at = seconds, by = secret } = {}): [string, string][] {
  return [
    ['webhook-id', id],
    ['Webhook-Timestamp', String(at)],
    ['WEBHOOK-SIGNATURE', new Webhook(by).sign(id, new Date(at * 1_000), body)],
  ];
}

const verify = (headers: [string, string][], body: string | Buffer, tolerance?: number) =>
  verifyDelivery({ headers, body: Buffer.from(body) }, { secrets: [key], now, ...(tolerance === undefined ? {} : { tolerance }) });

const replaceHeader = (headers: [string, string][], name: string, value: string): [string, string][] =>
  headers.map(([headerName, headerValue]) => [headerName, headerName.toLowerCase() === name ? value : headerValue]);

describe('a genuine delivery', () => {
  it('is accepted, whatever its body', () => {
    fc.assert(
      fc.property(fc.oneof(fc.constant(''), fc.string({ unit: 'binary' }), fc.json()), (body) => {
        expect(verify(signHeaders(body), body)).toEqual({
          valid: true,
          id: 'msg_1',
          timestamp: '2026-07-18T09:00:00.000Z',
          age_seconds: 0,
        });
      }),
      { numRuns: 300 },
    );
  });

  it('can have a body that is not text', () => {
    const body = randomBytes(64);
    const mac = createHmac('sha256', key)
      .update(Buffer.concat([Buffer.from(`m.${seconds}.`), body]))
      .digest('base64');
    const headers: [string, string][] = [
      ['webhook-id', 'm'],
      ['webhook-timestamp', String(seconds)],
      ['webhook-signature', `v1,${mac}`],
    ];
    expect(verify(headers, body).valid).toBe(true);
  });

  it('can have more signatures: with another secret, of another version, or nonsense', () => {
    const [id, time, [name, ownSignature]] = signHeaders('x') as [[string, string], [string, string], [string, string]];
    const otherSignature = new Webhook(randomBytes(32).toString('base64')).sign('msg_1', new Date(now), 'x');
    expect(verify([id, time, [name, `${otherSignature} v1a,abc nonsense ${ownSignature}`]], 'x').valid).toBe(true);
  });

  it('is accepted with any of several secrets', () => {
    const olderSecret = randomBytes(24);
    const headers = signHeaders('x', { by: olderSecret.toString('base64') });
    expect(verifyDelivery({ headers, body: Buffer.from('x') }, { secrets: [key, olderSecret], now }).valid).toBe(true);
  });

  it('is recent within the tolerance, in both directions', () => {
    const verifyAt = (offset: number) => verify(signHeaders('x', { at: seconds + offset }), 'x');
    expect([verifyAt(-300).valid, verifyAt(300).valid]).toEqual([true, true]);
    expect([verifyAt(-9), verifyAt(9)]).toMatchObject([{ age_seconds: 9 }, { age_seconds: -9 }]);
    const moment = verifyDelivery({ headers: signHeaders('x'), body: Buffer.from('x') }, { secrets: [key], now: now + 1_999 });
    expect(moment).toMatchObject({ age_seconds: 1, timestamp: '2026-07-18T09:00:00.000Z' });
    expect(verifyAt(-301)).toMatchObject({ valid: false, reason: 'too_old' });
    expect(verifyAt(301)).toMatchObject({ valid: false, reason: 'too_new' });
    expect(verify(signHeaders('x', { at: seconds - 9 }), 'x', 8_000)).toMatchObject({
      reason: 'too_old',
      message: expect.stringContaining('9s'),
    });
    expect(verify(signHeaders('x', { at: seconds - 9 }), 'x', 10_000).valid).toBe(true);
    expect(verify(signHeaders('x', { at: seconds + 9 }), 'x', 8_000)).toMatchObject({
      reason: 'too_new',
      message: 'The signature is valid, but its time is 9s ahead; at most 8s are allowed.',
      hint: expect.stringContaining('clocks'),
    });
    expect(verifyAt(-301)).toMatchObject({ hint: expect.stringContaining('may be replayed') });
  });
});

describe('a header', () => {
  it.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])('%s must appear exactly once', (name) => {
    const headers = signHeaders('x');
    const remainingHeaders = headers.filter(([headerName]) => headerName.toLowerCase() !== name);
    expect(verify(remainingHeaders, 'x')).toMatchObject({ reason: 'missing_header', message: expect.stringContaining(name) });
    expect(verify(replaceHeader(headers, name, ''), 'x')).toMatchObject({ reason: 'missing_header' });
    expect(verify([...headers, [name, 'y']], 'x')).toMatchObject({
      reason: 'malformed_header',
      message: expect.stringContaining('2 times'),
    });
  });

  it.each([
    ['1784365200abc', 'number of seconds'],
    ['-5', 'number of seconds'],
    ['1.5', 'number of seconds'],
    ['0x10', 'number of seconds'],
    ['１７８４', 'number of seconds'],
  ])('webhook-timestamp cannot be %s', (value, word) => {
    expect(verify(replaceHeader(signHeaders('x'), 'webhook-timestamp', value), 'x')).toMatchObject({
      reason: 'malformed_header',
      message: expect.stringContaining(word),
    });
  });

  it('webhook-timestamp in milliseconds is pointed out', () => {
    expect(verify(replaceHeader(signHeaders('x'), 'webhook-timestamp', String(now)), 'x')).toMatchObject({
      hint: expect.stringContaining('milliseconds'),
    });
  });

  it.each([
    ['nonsense', 'contains no valid signature'],
    ['v1,', 'contains no valid signature'],
    ['v1,AAAA', 'contains no valid signature'],
    ['v1,AAAA v1a,AAAA', 'contains no valid signature'],
    ['v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==', 'only v1a'],
    ['ab'.repeat(32), 'hexadecimal'],
    [`sha256=${'ab'.repeat(32)}`, 'hexadecimal'],
    [`${Buffer.alloc(32).toString('base64')}`, 'version'],
  ])('webhook-signature cannot be %s', (value, word) => {
    expect(verify(replaceHeader(signHeaders('x'), 'webhook-signature', value), 'x')).toMatchObject({
      reason: 'malformed_header',
      message: expect.stringContaining(word),
    });
  });

  it('can be surrounded by spaces', () => {
    const headers = signHeaders('x').map(([name, value]): [string, string] => [` ${name} `, ` ${value} `]);
    expect(verify(headers, 'x').valid).toBe(true);
  });

  it('of no scheme at all leads to a hint about all three', () => {
    expect(verify([], 'x')).toMatchObject({ hint: 'Pass all three headers: webhook-id, webhook-timestamp, webhook-signature.' });
    expect(verify([['x-hub-signature-256', 'sha256=ab']], 'x')).toMatchObject({ hint: expect.stringContaining('x-hub-signature-256') });
  });

  it('webhook-timestamp has at most 11 digits', () => {
    const verifyTimestamp = (value: string) => verify(replaceHeader(signHeaders('x'), 'webhook-timestamp', value), 'x');
    expect(verifyTimestamp('99999999999')).toMatchObject({ reason: 'no_match' });
    expect(verifyTimestamp('100000000000')).toMatchObject({ reason: 'malformed_header', hint: expect.stringContaining('milliseconds') });
    expect(verifyTimestamp('soon')).toMatchObject({ reason: 'malformed_header', hint: expect.stringContaining('digits only') });
  });

  it('of another scheme is named', () => {
    expect(verify([['Stripe-Signature', 't=1,v1=ab']], 'x')).toMatchObject({ hint: expect.stringContaining('stripe-signature') });
    expect(verify([['svix-id', 'x']], 'x')).toMatchObject({ hint: expect.stringContaining('Svix') });
  });
});

describe('a body that was altered', () => {
  const json = '{"id":"é","b":[1,2.50,{"z":null}],"a":"x, y: z"}';
  const value = JSON.parse(json) as object;

  it.each<[string, string, string | Buffer, string]>([
    ['gained a line feed', 'x', 'x\n', 'line feed was added'],
    ['gained CR LF', 'x', 'x\r\n', 'CR LF) was added'],
    ['lost its line feed', 'x\n', 'x', 'line feed at its end is missing'],
    ['lost its CR LF', 'x\r\n', 'x', 'CR LF) at its end is missing'],
    ['gained a byte order mark', 'x', '\ufeffx', 'byte order mark was added'],
    ['lost its byte order mark', '\ufeffx', 'x', 'byte order mark at its beginning is missing'],
    ['had its line feeds changed', 'a\nb', 'a\r\nb', 'line feeds became CR LF'],
    ['had its CR LF changed', 'a\r\nb', 'a\nb', 'CR LF became line feeds'],
    ['gained white space', 'x', '  x \t', 'white space'],
    ['was read as Latin-1', 'é', Buffer.from('é', 'latin1'), 'encoding'],
    ['was indented', JSON.stringify(value), JSON.stringify(value, null, 2), 'parsed and serialised again as JSON.'],
    ['was compacted', JSON.stringify(value, null, 2), JSON.stringify(value), 'parsed and serialised again'],
    [
      'was written by Python',
      JSON.stringify(value),
      '{"id": "\\u00e9", "b": [1, 2.5, {"z": null}], "a": "x, y: z"}',
      'parsed and serialised again',
    ],
    [
      'came from Python',
      '{"id": "\\u00e9", "b": [1, 2.5, {"z": null}], "a": "x, y: z"}',
      JSON.stringify(value),
      'parsed and serialised again',
    ],
    ['was compacted and lost its line feed', `${JSON.stringify(value, null, 2)}\n`, JSON.stringify(value), 'serialised again as JSON.'],
    ['had its keys sorted before', '{"a":1,"b":2,"c":3}', '{"b":2,"c":3,"a":1}', 'in another order'],
    ['had the keys in its lists sorted before', '[{"a":1,"b":2}]', '[{"b":2,"a":1}]', 'in another order'],
  ])('because it %s is recognised', (_, original, alteredBody, word) => {
    expect(verify(signHeaders(original), alteredBody)).toMatchObject({
      valid: false,
      reason: 'body_altered',
      message: expect.stringContaining(word),
    });
  });
});

describe('a signature that was computed incorrectly', () => {
  const mac = (signingKey: string | Uint8Array, content: string): [string, string][] => [
    ['webhook-id', 'm'],
    ['webhook-timestamp', String(seconds)],
    ['webhook-signature', `v1,${createHmac('sha256', signingKey).update(content).digest('base64')}`],
  ];

  it.each([
    ['only the body', key, 'x', 'only the body'],
    ['no id', key, `${seconds}.x`, 'without the ID'],
    ['no time', key, 'm.x', 'without the time'],
    ['the time first', key, `${seconds}.m.x`, 'the time before the ID'],
    ['no body', key, `m.${seconds}.`, 'as if the body were empty'],
    ['the secret as text', secret, `m.${seconds}.x`, 'secret as text'],
    ['the secret as text without its prefix', secret.slice(6), `m.${seconds}.x`, 'without whsec_'],
  ])('from %s is explained', (_, signingKey, content, word) => {
    expect(verify(mac(signingKey, content), 'x')).toMatchObject({ reason: 'wrong_signing', message: expect.stringContaining(word) });
  });

  it('is explained with any of several secrets', () => {
    const otherSecrets = [randomBytes(32), randomBytes(32)];
    const explain = (headers: [string, string][], body: string, secrets: Uint8Array[]) =>
      verifyDelivery({ headers, body: Buffer.from(body) }, { secrets, now });
    const [first = key, second = key] = otherSecrets;
    expect(explain(mac(secret, `m.${seconds}.x`), 'x', [first, key, second])).toMatchObject({
      reason: 'wrong_signing',
      message: expect.stringContaining('secret as text, but'),
    });
    expect(explain(signHeaders('x'), 'x\n', [first, key])).toMatchObject({ reason: 'body_altered' });
    expect(explain(mac(key, 'x'), 'x', [first, key])).toMatchObject({ reason: 'wrong_signing' });
    expect(explain(signHeaders('x'), 'x', otherSecrets)).toMatchObject({ reason: 'no_match' });
  });

  it('with another secret matches nothing', () => {
    const headers = signHeaders('{"a":1}', { by: randomBytes(32).toString('base64') });
    expect(verify(headers, '{"a":1}')).toMatchObject({ reason: 'no_match' });
    // An old delivery that does not match is not reported as old.
    expect(verify(signHeaders('x', { at: 5 }), 'y')).toMatchObject({ reason: 'no_match' });
  });
});

describe('a secret', () => {
  it.each(['', 'whsec_', 'whsec_???', 'whsec_YWJj', 'hello world', `${secret}x`])('cannot be "%s"', (text) => {
    const error = (() => {
      try {
        secretKey(text, 'SECRET');
        return undefined;
      } catch (error) {
        return error as Error;
      }
    })();
    expect(error?.message).toBe('SECRET is not a webhook secret.');
  });

  it('has at least 16 bytes', () => {
    expect(secretKey(`whsec_${Buffer.alloc(16, 1).toString('base64')}`, 'it')).toHaveLength(16);
    expect(() => secretKey(`whsec_${Buffer.alloc(15, 1).toString('base64')}`, 'it')).toThrow('it is not a webhook secret.');
  });

  it.each(['-', '_', ' ', '\n', '='])('cannot contain %j', (character) => {
    const text = Buffer.alloc(18, 0xfb).toString('base64');
    expect(secretKey(text, 'it')).toHaveLength(18);
    expect(() => secretKey(`${text.slice(0, 3)}${character}${text.slice(4)}`, 'it')).toThrow('it is not a webhook secret.');
  });

  it('can be passed without its prefix and with a line feed', () => {
    expect(secretKey(`${secret.slice(6)}\n`, 'it')).toEqual(key);
  });
});
