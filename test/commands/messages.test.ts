/** The messages of a run: selection, paging, and large messages. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RunMessage } from '../../src/interface/types.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { whenDone } from '../support/temporary.ts';

interface MessageList {
  data: RunMessage[];
  total: number;
  limit: number;
  offset: number;
}

let service: TestService;
let longText: string;
let short: string;
beforeAll(async () => {
  service = await startTestService();
  longText = await service.run(Array.from({ length: 30 }, (_, index) => `- say: "line ${index + 1}"`).join('\n'));
  short = await service.run('- say: "line 1"\n- say: "line 2"');
  await service.until(longText, 'completed');
  await service.until(short, 'completed');
});

const list = async (...argv: string[]): Promise<MessageList> =>
  (await service.cli(['runs', 'messages', ...argv, '--json'])).json<MessageList>();
const lines = ({ data }: MessageList): (string | null | undefined)[] => data.map(({ text_content }) => text_content);
const numberedTexts = (from: number, to: number): string[] => Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}`);

describe('runs messages', () => {
  it('shows the latest messages in order, and their position in the conversation', async () => {
    const listResult = await list(longText);
    expect(lines(listResult)).toEqual(numberedTexts(11, 30));
    expect(listResult).toMatchObject({ total: 30, limit: 20, offset: 10 });
  });

  it.each([
    ['--tail', '3'],
    ['--limit', '3'],
  ])('shows as many as %s says', async (...argv) => {
    const listResult = await list(longText, ...argv);
    expect(lines(listResult)).toEqual(numberedTexts(28, 30));
    expect(listResult).toMatchObject({ total: 30, limit: 3, offset: 27 });
  });

  it('counts --offset from the beginning, and shows all messages with --all', async () => {
    expect(lines(await list(longText, '--offset', '0', '--limit', '2'))).toEqual(numberedTexts(1, 2));
    expect(lines(await list(longText, '--offset', '25'))).toEqual(numberedTexts(26, 30));
    const allMessages = await list(longText, '--all');
    expect(lines(allMessages)).toEqual(numberedTexts(1, 30));
    expect(allMessages).toMatchObject({ total: 30, offset: 0 });
  });

  it('shows a short conversation completely', async () => {
    const listResult = await list(short);
    expect(lines(listResult)).toEqual(numberedTexts(1, 2));
    expect(listResult).toMatchObject({ total: 2, limit: 20, offset: 0 });
  });

  it('says which messages are not shown and how to see them', async () => {
    const result = await service.cli(['runs', 'messages', longText], { tty: true, env: { NO_COLOR: '1' } });
    expect(result.stderr).toBe('Showing the last 20 of 30. See all with --all.\n');
    expect(result.stdout).toMatch(/line 30\n$/);
    expect((await service.cli(['runs', 'messages', short], { tty: true })).stderr).toBe('');
  });

  it.each([['--all'], ['--offset', '1'], ['--limit', '2']])('rejects --tail with %s', async (...argv) => {
    const refusal = await service.cli(['runs', 'messages', longText, '--tail', '2', ...argv]);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('--tail cannot be combined with');
  });
});

/** A service whose messages all have the same size, in bytes, and which records the requested numbers. */
async function withLargeMessages(count: number, size: number) {
  const requests: number[] = [];
  const text_content = 'x'.repeat(size);
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://x').searchParams;
    const [limit, offset] = [Number(query.get('limit')), Number(query.get('offset'))];
    requests.push(limit);
    const messages = Array.from({ length: Math.max(0, Math.min(limit, count - offset)) }, (_, index) => ({
      ...{ id: `m${offset + index}`, type: 'text', role: 'assistant', timestamp: '2026-07-18T12:00:00.000Z', text_content },
    }));
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ messages, total: count, limit, offset }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  whenDone(() => void server.close());
  const env = { AOPS_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  return { requests, ids: (...argv: string[]) => service.cli(['runs', 'messages', longText, '-o', 'id', ...argv], { env }) };
}

describe('messages that are too large for a page', () => {
  it('are read in smaller pages', async () => {
    const { requests, ids } = await withLargeMessages(60, 900_000);
    const allResult = await ids('--all');
    expect(allResult).toMatchObject({ code: 0, stderr: '' });
    expect(allResult.stdout.trim().split('\n')).toEqual(Array.from({ length: 60 }, (_, index) => `m${index}`));
    expect(requests).toEqual([50, 25, 25, 25]);
    const newest = await ids('--tail', '40');
    expect(newest.stdout.trim().split('\n')).toEqual(Array.from({ length: 40 }, (_, index) => `m${20 + index}`));
  });

  it('cause a specific error if a single message is too large', async () => {
    const { requests, ids } = await withLargeMessages(2, 34 * 1024 * 1024);
    const failure = await ids('--all');
    expect(failure).toMatchObject({ code: 1, stdout: '' });
    expect(failure.stderr).toContain('The service answered, but the answer is larger than 32 MiB.');
    expect(failure.stderr).not.toContain('Could not reach');
    expect(requests.at(-1)).toBe(1);
  });
});
