/** The ledger of an import: what it records, what a later import learns from it, and when it refuses to continue. */
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { readHead } from '../../../src/cli/bulk/ledger.ts';
import { journalLifeMilliseconds } from '../../../src/client/journal.ts';
import { batchKeys, type CaseLedgerHead, openCaseLedger } from '../../../src/commands/cases/import/case-ledger.ts';
import { failureOf } from '../../client/harness.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const now = Date.parse('2026-07-18T09:00:00.000Z');
const startedAt = '2026-07-18T09:00:00.000Z';
const head: CaseLedgerHead = {
  aops: 'cases',
  version: 1,
  id: 'import-1',
  queue_id: 'q1',
  base_url: 'https://agents.example.com',
  content: 'sha-of-file',
  reading: 'sha-of-options',
};

const newFile = async (): Promise<string> => path.join(await temporaryFolder(), 'cases.csv.aops-ledger');
const linesOf = async (file: string): Promise<unknown[]> =>
  (await readFile(file, 'utf8'))
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as unknown);
/** A ledger with these lines after its head. */
async function writeLedger(...lines: (object | string)[]): Promise<string> {
  const file = await newFile();
  await writeFile(file, [head, ...lines].map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''));
  return file;
}

it('the head of a ledger is undefined until something was recorded', async () => {
  expect(await readHead(await newFile())).toBeUndefined();
  expect(await readHead(await writeLedger())).toEqual(head);
});

describe('the ledger of an import', () => {
  it('is written with the first batch, readable by its owner only, before the batch is sent', async () => {
    const file = await newFile();
    const ledger = await openCaseLedger(file, head);
    expect(await failureOf(stat(file))).toMatchObject({ code: 'ENOENT' });
    await ledger.begin(1, now, 'tok_1');
    expect(await linesOf(file)).toEqual([head, { batch: 1, begun: startedAt, by: 'tok_1' }]);
    if (process.platform !== 'win32') expect((await stat(file)).mode & 0o777).toBe(0o600);
    await ledger.finish(1, { created: 99, failed: [{ row: 3, reason: 'no title' }] });
    await ledger.begin(2, now, 'tok_1');
    expect((await linesOf(file)).slice(2)).toEqual([
      { batch: 1, created: 99, failed: [{ row: 3, reason: 'no title' }] },
      { batch: 2, begun: startedAt, by: 'tok_1' },
    ]);
    expect(ledger.resultOf(1)).toEqual({ created: 99, failed: [{ row: 3, reason: 'no title' }] });
    expect(ledger.resultOf(2)).toBeUndefined();
    expect([ledger.startOf(1), ledger.startOf(2)]).toEqual([undefined, { begun: startedAt, by: 'tok_1' }]);
  });

  it('tells a later import the outcome of each batch, and keeps the keys', async () => {
    const file = await writeLedger(
      { batch: 1, begun: startedAt, by: 'tok_1' },
      { batch: 1, created: 0 },
      { batch: 2, begun: startedAt, by: 'tok_1' },
      '',
    );
    const ledger = await openCaseLedger(file, { ...head, id: 'import-2' });
    expect(ledger.resultOf(1)).toEqual({ created: 0, failed: [] });
    expect(ledger.resultOf(2)).toBeUndefined();
    expect(ledger.head.id).toBe('import-1');
    expect(batchKeys(ledger, 2)).toEqual({ key: 'aops-cases-import-1-2', commandKey: 'aops-cases-import-1-2' });
    expect(batchKeys(ledger, 2, 7)).toEqual({ key: 'aops-cases-import-1-2-7', commandKey: 'aops-cases-import-1-2-7' });
  });

  it('allows a batch without a response to be sent again while its key is valid, with the same credential', async () => {
    const file = await writeLedger({ batch: 1, begun: startedAt, by: 'tok_1' }, { batch: 2, begun: startedAt });
    const before = await readFile(file, 'utf8');
    const ledger = await openCaseLedger(file, head);
    await ledger.begin(1, now + journalLifeMilliseconds, 'tok_1');
    // Earlier versions did not record the credential.
    await ledger.begin(2, now, 'tok_2');
    expect(await readFile(file, 'utf8')).toBe(before);
  });

  it('refuses to send a batch again when its key may have expired', async () => {
    const file = await writeLedger({ batch: 1, begun: startedAt, by: 'tok_1' });
    const ledger = await openCaseLedger(file, head);
    expect(await failureOf(ledger.begin(1, now + journalLifeMilliseconds + 1, 'tok_1'))).toMatchObject({
      code: 'import_outcome_unknown',
      exit: 13,
      message: `Batch 1 was sent at ${startedAt} without a response: its cases may or may not exist.`,
      hint: expect.stringMatching(/^Search for them with `aops cases search`\. .* remove the line \{"batch":1,"begun":\.\.\.\} from /),
    });
  });

  it('refuses to send a batch again with another credential than the one that an earlier import recorded', async () => {
    const ledger = await openCaseLedger(await writeLedger({ batch: 1, begun: startedAt, by: 'tok_1' }), head);
    expect(await failureOf(ledger.begin(1, now, 'tok_2'))).toMatchObject({
      code: 'import_outcome_unknown',
      message: 'Batch 1 was sent with the credential tok_1 without a response: its cases may or may not exist.',
    });
  });

  it('refuses to send a batch again with another credential, also within one import', async () => {
    const ledger = await openCaseLedger(await newFile(), head);
    await ledger.begin(1, now, 'tok_1');
    expect(await failureOf(ledger.begin(1, now, 'tok_2'))).toMatchObject({
      code: 'import_outcome_unknown',
      message: 'Batch 1 was sent with the credential tok_1 without a response: its cases may or may not exist.',
      hint: expect.stringMatching(/^Run this again with that credential, .*If you no longer have it: Search for them/),
    });
  });

  it.each<[Partial<CaseLedgerHead>, string]>([
    [{ queue_id: 'q2' }, 'was for another queue'],
    [{ base_url: 'https://other.example.com' }, 'was sent to https://agents.example.com, but this profile uses https://other.example.com'],
    [{ content: 'other' }, 'used a different version of the file'],
    [{ reading: 'other' }, 'used a different --map, --label, or --priority'],
  ])('is refused if it belongs to another import: %j', async (difference, reason) => {
    const file = await writeLedger();
    expect(await failureOf(openCaseLedger(file, { ...head, ...difference }))).toMatchObject({
      exit: 2,
      message: `The import recorded in ${file} ${reason}.`,
      hint: 'Remove that file to start over: every row becomes a case again.',
    });
  });

  it.each(['{"aops":"cases","version":2}\n', '{"aops":"else","version":1}\n', 'no JSON\n', '\n', 'null\n', '{"version":1}\n'])(
    'is refused if it is something else: %j',
    async (text) => {
      const file = await newFile();
      await writeFile(file, text);
      expect(await failureOf(openCaseLedger(file, head))).toMatchObject({ exit: 2, message: `${file} is not a ledger of aops.` });
      expect(await readFile(file, 'utf8')).toBe(text);
    },
  );

  it('is written from its first line if it is empty', async () => {
    const file = await newFile();
    await writeFile(file, '');
    await (await openCaseLedger(file, head)).begin(1, now, 'tok_1');
    expect(await linesOf(file)).toEqual([head, { batch: 1, begun: startedAt, by: 'tok_1' }]);
  });

  it('continues on a new line after one that was cut off', async () => {
    const file = await writeLedger({ batch: 1, created: 5, failed: [{ row: 3, reason: 'no title' }] });
    await writeFile(file, `${await readFile(file, 'utf8')}{"batch":2,"beg`);
    const ledger = await openCaseLedger(file, head);
    await ledger.begin(2, now, 'tok_1');
    await ledger.finish(2, { created: 1, failed: [] });
    const secondLedger = await openCaseLedger(file, head);
    expect([secondLedger.resultOf(1), secondLedger.resultOf(2)]).toEqual([
      { created: 5, failed: [{ row: 3, reason: 'no title' }] },
      { created: 1, failed: [] },
    ]);
    await secondLedger.begin(3, now, 'tok_1');
    expect((await readFile(file, 'utf8')).split('\n').slice(2)).toEqual([
      '{"batch":2,"beg',
      JSON.stringify({ batch: 2, begun: startedAt, by: 'tok_1' }),
      JSON.stringify({ batch: 2, created: 1, failed: [] }),
      JSON.stringify({ batch: 3, begun: startedAt, by: 'tok_1' }),
      '',
    ]);
  });

  it('names the file that cannot be read or written', async () => {
    const file = await newFile();
    await mkdir(file);
    expect(await failureOf(openCaseLedger(file, head))).toMatchObject({
      exit: 2,
      message: expect.stringContaining(`${file} cannot be read: `),
    });
    await rm(file, { recursive: true });
    const ledger = await openCaseLedger(file, head);
    await mkdir(file);
    expect(await failureOf(ledger.begin(1, now, 'tok_1'))).toMatchObject({
      exit: 2,
      message: expect.stringContaining(`${file} cannot be written: `),
      hint: 'Progress is recorded there; nothing is sent without it.',
    });
  });
});

describe('lines of a ledger', () => {
  it('are written in the order in which they were added, several with one write', async () => {
    const file = await newFile();
    const ledger = await openCaseLedger(file, head);
    await Promise.all(Array.from({ length: 20 }, (_, index) => ledger.begin(index + 1, now, 'tok_1')));
    expect((await linesOf(file)).map((line) => (line as { batch?: number }).batch)).toEqual([
      undefined,
      ...Array.from({ length: 20 }, (_, index) => index + 1),
    ]);
  });

  it('do not damage each other after a write that failed', async () => {
    const file = await newFile();
    const ledger = await openCaseLedger(file, head);
    await mkdir(file);
    expect(await failureOf(ledger.begin(1, now, 'tok_1'))).toMatchObject({ exit: 2 });
    await rm(file, { recursive: true });
    await ledger.finish(2, { created: 1, failed: [] });
    const laterLedger = await openCaseLedger(file, head);
    expect([laterLedger.resultOf(1), laterLedger.resultOf(2)]).toEqual([undefined, { created: 1, failed: [] }]);
  });

  it('free a part that the service refused for a new attempt', async () => {
    const file = await newFile();
    const ledger = await openCaseLedger(file, head);
    await ledger.begin(1, now, 'tok_1');
    await ledger.refuse(1, 'forbidden');
    const laterLedger = await openCaseLedger(file, head);
    expect([laterLedger.startOf(1), laterLedger.refusalsOf(1), laterLedger.refusalsOf(2)]).toEqual([undefined, 1, 0]);
    await laterLedger.begin(1, now + 2 * journalLifeMilliseconds, 'tok_2');
    expect((await linesOf(file)).at(-1)).toMatchObject({ batch: 1, by: 'tok_2' });
  });
});
