/** Receiving deliveries over HTTP, and passing them on. */
import { randomBytes } from 'node:crypto';
import http from 'node:http';
import { connect } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { Forwarder } from '../../../src/client/webhooks/forward.ts';
import { type ReceivedDelivery, receiveWebhooks } from '../../../src/client/webhooks/receiver.ts';
import { answer, noAnswer, raw } from '../../faults/raw-server.ts';
import { ManualClock } from '../../service/helpers/clock.ts';
import { closedPort } from '../../support/ports.ts';
import { afterTest } from '../../support/temporary.ts';
import { scriptedServer } from '../harness.ts';

const key = randomBytes(32);
const clock = new ManualClock();
const mebibyte = 1024 * 1024;

function signHeaders(body: string, id = 'msg_1', signingKey: Uint8Array = key): Record<string, string> {
  const time = new Date(clock.now());
  const signature = new Webhook(Buffer.from(signingKey).toString('base64')).sign(id, time, body);
  return { 'webhook-id': id, 'webhook-timestamp': String(clock.now() / 1_000), 'webhook-signature': signature };
}

/** A receiver whose caller answers with this status. */
async function newReceiver(onDelivery: (delivery: ReceivedDelivery) => Promise<number> = async () => 204) {
  const deliveries: ReceivedDelivery[] = [];
  const answers: number[] = [];
  const receiver = await receiveWebhooks({
    port: 0,
    secrets: [key],
    clock,
    onDelivery: (delivery) => {
      deliveries.push(delivery);
      return onDelivery(delivery);
    },
    onAnswered: (_, status) => answers.push(status),
  });
  afterTest(() => receiver.close());
  return { receiver, deliveries, answers };
}

/** Sends a request and returns the status and the headers of its response. */
const send = (url: string, headers: http.OutgoingHttpHeaders, body: string | Buffer = '', method = 'POST') =>
  new Promise<{ status: number | undefined; headers: http.IncomingHttpHeaders }>((resolve, reject) => {
    const request = http.request(url, { method, headers, agent: false }, (response) => {
      response.resume().on('end', () => resolve({ status: response.statusCode, headers: response.headers }));
    });
    request.on('error', reject).end(body);
  });

describe('a receiver', () => {
  it('passes on a genuine delivery as it was received, and answers with the status of its caller', async () => {
    const { receiver, deliveries } = await newReceiver();
    const headers = { ...signHeaders('{"a":"é"}'), 'X-Twice': ['1', '2'] };
    const response = await send(receiver.url, headers, '{"a":"é"}');
    expect(response).toMatchObject({ status: 204, headers: { connection: 'close' } });
    expect(deliveries).toMatchObject([{ verdict: { valid: true, id: 'msg_1' }, duplicate: false }]);
    expect(deliveries[0]?.body.toString()).toBe('{"a":"é"}');
    expect(deliveries[0]?.headers.filter(([name]) => name === 'X-Twice')).toEqual([
      ['X-Twice', '1'],
      ['X-Twice', '2'],
    ]);
  });

  it('recognises a delivery that is repeated, but not by the ID of one that is not genuine', async () => {
    const { receiver, deliveries } = await newReceiver();
    const forgedHeaders = signHeaders('x', 'msg_1', randomBytes(32));
    for (const headers of [forgedHeaders, signHeaders('x'), signHeaders('x'), signHeaders('x', 'msg_2'), forgedHeaders])
      await send(receiver.url, headers, 'x');
    expect(deliveries.map(({ verdict, duplicate }) => [verdict.valid, duplicate])).toEqual([
      [false, false],
      [true, false],
      [true, true],
      [true, false],
      [false, false],
    ]);
  });

  it('answers 400 to a delivery that is not genuine, whatever its caller says', async () => {
    const { receiver, deliveries } = await newReceiver();
    expect(await send(receiver.url, signHeaders('x'), 'y')).toMatchObject({ status: 400 });
    expect(deliveries).toMatchObject([{ verdict: { valid: false, reason: 'no_match' } }]);
  });

  it('answers 500 if its caller fails', async () => {
    const { receiver } = await newReceiver(() => Promise.reject(new Error('no')));
    expect(await send(receiver.url, signHeaders('x'), 'x')).toMatchObject({ status: 500 });
  });

  it('reports the answers that were sent, and not those that were lost with the connection', async () => {
    let abort: (() => void) | undefined;
    const { receiver, answers } = await newReceiver(async ({ body }) => {
      if (body.toString() !== 'lost') return 204;
      abort?.();
      await disconnected;
      // The receiver has noticed once it has answered another request.
      await send(receiver.url, signHeaders('x', 'msg_2'), 'x');
      return 204;
    });
    const disconnected = new Promise<void>((resolve) => {
      const request = http.request(receiver.url, { method: 'POST', headers: signHeaders('lost'), agent: false });
      request.on('error', () => undefined).on('close', resolve);
      abort = () => request.destroy();
      request.end('lost');
    });
    await disconnected;
    await send(receiver.url, {}, '', 'GET');
    await receiver.close();
    expect(answers).toEqual([204]);
  });

  it('accepts only POST', async () => {
    const { receiver, deliveries } = await newReceiver();
    expect(await send(receiver.url, {}, '', 'GET')).toMatchObject({ status: 405, headers: { connection: 'close' } });
    expect(deliveries).toEqual([]);
  });

  it('accepts at most 10 MiB', async () => {
    const { receiver, deliveries } = await newReceiver();
    expect(await send(receiver.url, {}, Buffer.alloc(10 * mebibyte))).toMatchObject({ status: 400 });
    expect(deliveries).toHaveLength(1);
    // What exceeds the limit is not sent, so that the response cannot be lost.
    const { port } = new URL(receiver.url);
    const socket = connect(Number(port), '127.0.0.1');
    afterTest(() => socket.destroy());
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${20 * mebibyte}\r\n\r\n`);
    socket.write(Buffer.alloc(10 * mebibyte + 1));
    const [first] = (await new Promise<Buffer>((resolve) => socket.once('data', resolve))).toString().split('\r\n');
    expect(first).toBe('HTTP/1.1 413 Payload Too Large');
    expect(deliveries).toHaveLength(1);
  });

  it('answers deliveries in progress before it closes', async () => {
    let finish: (status: number) => void = () => undefined;
    let onReceived: () => void = () => undefined;
    const arrival = new Promise<void>((resolve) => (onReceived = resolve));
    const { receiver } = await newReceiver(() => {
      onReceived();
      return new Promise((resolve) => (finish = resolve));
    });
    const response = send(receiver.url, signHeaders('x'), 'x');
    await arrival;
    let isClosed = false;
    const closing = receiver.close().then(() => {
      isClosed = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isClosed).toBe(false);
    finish(202);
    expect(await response).toMatchObject({ status: 202 });
    await closing;
  });

  it('reports a port that is in use', async () => {
    const { receiver } = await newReceiver();
    const port = Number(new URL(receiver.url).port);
    const otherReceiver = receiveWebhooks({ port, secrets: [key], clock, onDelivery: async () => 204 });
    await expect(otherReceiver).rejects.toMatchObject({
      exit: 2,
      code: 'port_in_use',
      message: `Cannot listen on port ${port} (EADDRINUSE).`,
    });
  });
});

describe('forwarding', () => {
  const delivery = (headers: [string, string][]): ReceivedDelivery => ({
    verdict: { valid: true, id: 'm', timestamp: '', age_seconds: 0 },
    duplicate: false,
    headers,
    body: Buffer.from([0, 255, 10]),
  });
  const forwarderTo = (url: string) => {
    const times = [1_000, 1_012];
    const target = new Forwarder(() => times.shift() ?? 0);
    afterTest(() => target.close());
    return { forward: (received: ReceivedDelivery) => target.forward(url, received) };
  };

  it('sends the same bytes, with the headers that belong to them and no others', async () => {
    const server = await scriptedServer(answer(202, 'thanks'), answer(200, ''));
    const target = forwarderTo(`${server.url}/hook?a=b`);
    const names = ['Content-Type', 'User-Agent', 'Webhook-Id', 'Webhook-Timestamp', 'Webhook-Signature', 'Authorization', 'Cookie', 'Host'];
    expect(await target.forward(delivery(names.map((name) => [name, 'value'])))).toEqual({ status: 202, duration_ms: 12 });
    const [request] = server.requests;
    expect(request).toMatchObject({ method: 'POST', path: '/hook?a=b', body: Buffer.from([0, 255, 10]) });
    expect(
      Object.entries(request?.headers ?? {})
        .filter(([, value]) => value === 'value')
        .map(([name]) => name),
    ).toEqual(names.slice(0, 5).map((name) => name.toLowerCase()));
    expect(await target.forward(delivery([]))).toMatchObject({ status: 200 });
  });

  it('does not follow redirects', async () => {
    const otherServer = await scriptedServer();
    const server = await scriptedServer(answer(307, '', { location: otherServer.url }));
    expect(await forwarderTo(server.url).forward(delivery([]))).toMatchObject({ status: 307 });
    expect(otherServer.connections).toBe(0);
  });

  it('reports why there is no response', async () => {
    const refusedForwarder = forwarderTo(`http://127.0.0.1:${await closedPort()}`);
    expect(await refusedForwarder.forward(delivery([]))).toMatchObject({ problem: 'the connection was refused' });
    const lossyForwarder = forwarderTo((await scriptedServer(noAnswer('close'))).url);
    expect(await lossyForwarder.forward(delivery([]))).toMatchObject({
      problem: 'the connection was closed before the answer was complete',
    });
    for (const text of ['nonsense\r\n\r\n', 'HTTP/1.1 101 Switching Protocols\r\n\r\n']) {
      const server = await scriptedServer(raw(text, 'close'));
      expect(await forwarderTo(server.url).forward(delivery([]))).toMatchObject({ problem: 'the answer was not valid HTTP' });
    }
  });
});
