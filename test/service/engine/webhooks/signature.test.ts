import { createHmac, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { expect, it } from 'vitest';
import { signedHeaders } from '../../../../src/service/engine/webhooks/signature.ts';

const secret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

it('matches the test vector of the specification', () => {
  const headers = signedHeaders(
    ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    'msg_p5jXN8AQM9LWM0D4loKWxJek',
    1_614_265_330_999,
    '{"test": 2432232314}',
  );
  expect(headers).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

it('is the HMAC of the ID, the time, and the bytes of the body, and the reference library accepts it', () => {
  const key = secret();
  fc.assert(
    fc.property(fc.oneof(fc.constant(''), fc.string({ unit: 'binary' }), fc.json()), fc.uuid(), (body, id) => {
      const now = Date.now();
      const headers = signedHeaders([key], id, now, body);
      const content = Buffer.concat([Buffer.from(`${id}.${Math.floor(now / 1_000)}.`), Buffer.from(body, 'utf8')]);
      const expected = createHmac('sha256', Buffer.from(key.slice(6), 'base64'))
        .update(content)
        .digest('base64');
      expect(headers['webhook-signature']).toBe(`v1,${expected}`);
      expect(() => new Webhook(key).verify(Buffer.from(body, 'utf8'), headers, { jsonParse: false })).not.toThrow();
      expect(() => new Webhook(key).verify(Buffer.from(`${body} `, 'utf8'), headers, { jsonParse: false })).toThrow('No matching');
    }),
    { numRuns: 1_000 },
  );
});

it('contains a signature for each secret, in their order', () => {
  const [newerSecret, olderSecret] = [secret(), secret()];
  const timestamp = Date.now();
  const { 'webhook-signature': bothSignatures } = signedHeaders([newerSecret, olderSecret], 'id', timestamp, 'x');
  const singleSignatures = [newerSecret, olderSecret].map(
    (signingSecret) => signedHeaders([signingSecret], 'id', timestamp, 'x')['webhook-signature'],
  );
  expect(bothSignatures).toBe(singleSignatures.join(' '));
});
