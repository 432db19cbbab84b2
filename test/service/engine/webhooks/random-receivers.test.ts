/** Receivers that answer anything, or break off at any point: every attempt is recorded, and its failure is explained in words. */
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { randomFrom } from '../../../support/random.ts';
import { afterTest } from '../../../support/temporary.ts';
import { rawReceiver } from '../../../support/webhook-receiver.ts';
import { ManualClock, within } from '../../helpers/clock.ts';
import { startApi } from '../../helpers/service.ts';
import { deliveries } from '../../helpers/webhooks.ts';

const receiverCount = 12;
const rounds = 3;

const statusLines = [
  ...['200 OK', '200', '201 Created', '204 No Content', '206 Partial Content', '302 Found', '304 Not Modified', '401 \xff', '407 No'],
  ...['410 Gone', '429 Too Many', '500 No', '503 No', '600 No', '999 No', '099 No', '101 Switching Protocols'],
  ...['100 Continue\r\n\r\nHTTP/1.1 200 OK', '103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 201 Created'],
].map((status) => `HTTP/1.1 ${status}`);
const firstLines = [...statusLines, 'HTTP/1.0 200 OK', 'HTTP/2 200', 'nonsense'];
const headers = [
  ...[
    'Content-Type: text/plain',
    'Content-Encoding: gzip',
    'Connection: keep-alive',
    'Set-Cookie: a=b',
    'Trailer: x',
    'Upgrade: websocket',
  ],
  ...['Retry-After: 99999999999', 'Retry-After: -1', 'Retry-After: 0', 'Retry-After: soon', 'Retry-After: 5\r\nRetry-After: 9'],
  ...['Location: http://127.0.0.1:1/x', 'Location: \xff', `X-Long: ${'y'.repeat(20_000)}`, 'No Header', ': no name'],
  ...['Transfer-Encoding: chunked', 'Content-Length: 5', 'Content-Length: 5\r\nContent-Length: 6'],
];
const bodies = ['', 'ok', 'a\0b', '\x1b[31m', '\xff\xfe', 'é'.repeat(1_030), 'x'.repeat(5_000), gzipSync('hello').toString('latin1')];

function randomReceiver(random: () => number) {
  const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)] as Value;
  return (socket: Socket): void => {
    const manner = pick(['whole', 'whole', 'pieces', 'cut', 'end', 'reset'] as const);
    if (manner === 'end') return void socket.end();
    if (manner === 'reset') return void socket.resetAndDestroy();
    const ownHeaders = Array.from({ length: Math.floor(random() * 3) }, () => `${pick(headers)}\r\n`);
    const bytes = Buffer.from(`${pick(firstLines)}\r\n${ownHeaders.join('')}\r\n${pick(bodies)}`, 'latin1');
    const sent = manner === 'cut' ? bytes.subarray(0, Math.floor(random() * bytes.length)) : bytes;
    if (manner === 'pieces') for (let start = 0; start < sent.length; start += 70) socket.write(sent.subarray(start, start + 70));
    else socket.write(sent);
    socket.end();
  };
}

it.each([1, 2, 3])('are no problem for the service (seed %i)', async (seed) => {
  const random = randomFrom(seed);
  const clock = new ManualClock(Date.now());
  const service = await startApi({ clock, webhooks: { random: () => 0.5 } });
  for (let index = 0; index < receiverCount; index++) {
    const hook = await rawReceiver(randomReceiver(random));
    afterTest(() => hook.close());
    await service.ok('createTeamWebhook', { body: { url: hook.url, events: ['run.completed'] } });
  }
  const run = await service.run();
  await service.until(run.id, 'completed');
  for (let round = 1; round <= rounds; round++) {
    await within(10_000, clock, async () => {
      const rows = await deliveries(service);
      return rows.length === receiverCount && rows.every((row) => row.status !== 'pending' || row.attempt_count === round);
    });
    let nextTime = clock.now();
    for (const { id } of await deliveries(service)) {
      const { delivery } = await service.ok('getWebhookDelivery', { params: { deliveryId: id } });
      const { status, last_status_code: code, last_error: error, next_attempt_at: next } = delivery;
      expect(delivery.attempts.map(({ number }) => number)).toEqual(
        Array.from({ length: delivery.attempt_count }, (_, index) => index + 1),
      );
      expect(error === null).toBe(status === 'delivered');
      expect(code !== null && code >= 200 && code < 300).toBe(status === 'delivered');
      expect(error ?? '').toMatch(/^[a-zA-Z0-9 ,;]*$/);
      if (next !== null) nextTime = Math.max(nextTime, Date.parse(next));
    }
    clock.set(nextTime);
  }
});
