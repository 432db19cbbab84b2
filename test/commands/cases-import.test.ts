import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseCsv } from '../../src/cli/bulk/csv.ts';
import { readRows } from '../../src/cli/bulk/rows.ts';
import { makeDrafts } from '../../src/commands/cases/import/drafts.ts';
import type { Case, Queue } from '../../src/interface/types.ts';
import { toCsv } from '../../src/terminal/csv.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { whenDone } from '../support/temporary.ts';

let service: TestService;
let names = 0;
beforeAll(async () => {
  service = await startTestService();
});

async function queue(): Promise<{ name: string; id: string }> {
  const name = `queue-${++names}`;
  const { queue } = await service.api<{ queue: Queue }>('POST', `/teams/${service.service.teamId}/queues`, { name });
  return { name, id: queue.id };
}

/** All cases of a queue, oldest first. */
async function cases(id: string): Promise<Case[]> {
  const allCases: Case[] = [];
  for (;;) {
    const page = await service.api<{ cases: Case[]; total: number }>(
      'GET',
      `/queues/${id}/cases?limit=100&sort_order=asc&offset=${allCases.length}`,
    );
    allCases.push(...page.cases);
    if (allCases.length >= page.total) return allCases;
  }
}

const exists = (name: string): boolean => existsSync(path.join(service.folder, name));
const bytes = (text: string): Uint8Array => Buffer.from(text);

describe('cases create --from', () => {
  it('creates a case from every row of a CSV file', async () => {
    const { name, id } = await queue();
    await service.file(
      'invoices.csv',
      '\uFEFFSubject,Vendor,Amount,Ref,Urgency,Notes\r\n"Invoice ""7"", March",Acme,120.5,007,high,"two\nlines"\r\nInvoice 8,,3,x,,\r\n',
    );
    const argv = [
      'cases',
      'create',
      name,
      '--from',
      'invoices.csv',
      '--map',
      'Subject=title',
      '--map',
      'Vendor=label:vendor',
      '--map',
      'Urgency=priority',
      '--map',
      'Notes=ignore',
      '--label',
      'imported',
    ];
    const importResult = await service.cli([...argv, '--json']);
    expect(importResult).toMatchObject({ code: 0, stderr: '' });
    expect(importResult.json()).toEqual({
      file: 'invoices.csv',
      queue_id: id,
      rows: 2,
      created: 2,
      created_before: 0,
      failed: 0,
      failed_file: null,
      ledger: 'invoices.csv.aops-ledger',
    });
    const [first, second] = (await cases(id)) as [Case, Case];
    expect(first).toMatchObject({ title: 'Invoice "7", March', priority: 'high', data: '{"Amount":120.5,"Ref":"007"}' });
    expect(first.labels.map(({ key, value }) => [key, value])).toEqual([
      ['', 'imported'],
      ['vendor', 'Acme'],
    ]);
    expect(second).toMatchObject({ title: 'Invoice 8', priority: 'none', data: '{"Amount":3,"Ref":"x"}' });
    expect(second.labels.map(({ value }) => value)).toEqual(['imported']);

    // The same import does nothing again; for another queue or with other options, the conflict is reported.
    const repeatResult = await service.cli([...argv, '--json']);
    expect(repeatResult.json()).toMatchObject({ created: 0, created_before: 2 });
    expect(await cases(id)).toHaveLength(2);
    const otherQueue = await queue();
    for (const [words, reason] of [
      [['cases', 'create', otherQueue.name, '--from', 'invoices.csv', '--map', 'Subject=title'], 'was for another queue'],
      [['cases', 'create', name, '--from', 'invoices.csv', '--map', 'Subject=title'], 'used a different --map'],
    ] as const) {
      const refusal = await service.cli(words);
      expect(refusal).toMatchObject({ code: 2, stdout: '' });
      expect(refusal.stderr).toContain(reason);
    }
    await service.file('invoices.csv', 'Subject\nnew\n');
    expect((await service.cli(argv)).stderr).toContain('has no column "Vendor"');
    const changeResult = await service.cli(['cases', 'create', name, '--from', 'invoices.csv', '--map', 'Subject=title']);
    expect(changeResult.stderr).toContain('used a different version of the file');
    expect(await cases(otherQueue.id)).toHaveLength(0);
  });

  it('reads JSON and NDJSON in the formats of the interface and of this tool', async () => {
    const { name, id } = await queue();
    await service.file(
      'a.json',
      JSON.stringify({ data: [{ title: 'a', data: { x: 1 }, labels: [{ key: 'k', value: 'v' }], priority: 'medium' }] }),
    );
    await service.file('b.ndjson', '{"title":"b","amount":3,"labels":{"k":["v","w"],"":"tag"}}\n\n{"title":4,"labels":"k=v; urgent"}\n');
    expect((await service.cli(['cases', 'create', name, '--from', 'a.json'])).code).toBe(0);
    expect((await service.cli(['cases', 'create', name, '--from', 'b.ndjson', '--priority', 'high'])).code).toBe(0);
    const importedRows = (await cases(id)).map(({ title, data, priority, labels }) => [
      title,
      data,
      priority,
      labels.map(({ key, value }) => `${key}=${value}`),
    ]);
    expect(importedRows).toEqual([
      ['a', '{"x":1}', 'medium', ['k=v']],
      ['b', '{"amount":3}', 'high', ['=tag', 'k=v', 'k=w']],
      ['4', '', 'high', ['=urgent', 'k=v']],
    ]);
  });

  it('writes invalid rows to a file with their reasons, which can be corrected and imported', async () => {
    const { name, id } = await queue();
    await service.file('mixed.csv', 'title;priority;amount\ngood;high;1\n;none;2\nbad;urgent;3\nalso good;;4\n');
    const importResult = await service.cli(['cases', 'create', name, '--from', 'mixed.csv', '--json']);
    expect(importResult.code).toBe(2);
    expect(importResult.json()).toMatchObject({ rows: 4, created: 2, failed: 2, failed_file: 'mixed.failed.csv' });
    const { error } = JSON.parse(importResult.stderr) as { error: Record<string, unknown> };
    expect(error).toMatchObject({ code: 'rows_failed', exit: 2, message: '2 rows were skipped (row 2: the title is empty; 1 more).' });
    expect(await service.read('mixed.failed.csv')).toBe(
      'title,priority,amount,aops_reason\r\n,none,2,the title is empty\r\nbad,urgent,3,"the priority is ""urgent""; it must be none, medium, high"\r\n',
    );
    await service.file(
      'mixed.failed.csv',
      (await service.read('mixed.failed.csv')).replace('\n,none', '\nnamed,none').replace('urgent,3', 'high,3'),
    );
    expect(await service.cli(['cases', 'create', name, '--from', 'mixed.failed.csv', '-q'])).toMatchObject({ code: 0 });
    expect((await cases(id)).map(({ title, data }) => [title, data])).toEqual([
      ['good', '{"amount":1}'],
      ['also good', '{"amount":4}'],
      ['named', '{"amount":2}'],
      ['bad', '{"amount":3}'],
    ]);
  });

  it('sends a rejected batch row by row to find the invalid rows', async () => {
    const { name, id } = await queue();
    // The tool does not check this, but the service rejects it.
    await service.file('odd.json', JSON.stringify([{ title: 'a' }, { title: 'b', labels: [{ key: 3, value: 'x' }] }, { title: 'c' }]));
    const importResult = await service.cli(['cases', 'create', name, '--from', 'odd.json', '--json']);
    expect(importResult.code).toBe(2);
    expect(importResult.json()).toMatchObject({ created: 2, failed: 1 });
    expect(JSON.parse(await service.read('odd.failed.json'))).toEqual([
      { title: 'b', labels: [{ key: 3, value: 'x' }], aops_reason: expect.stringContaining('case.labels.0.key must be a string') },
    ]);
    expect((await cases(id)).map(({ title }) => title)).toEqual(['a', 'c']);
    // Nothing is sent twice.
    expect((await service.cli(['cases', 'create', name, '--from', 'odd.json', '--json'])).json()).toMatchObject({
      created: 0,
      created_before: 2,
      failed: 1,
    });
    expect(await cases(id)).toHaveLength(2);
  });

  it('explains how to continue after a batch without a response', async () => {
    const { name, id } = await queue();
    await service.file('lost.csv', 'title\na\nb\n');
    const argv = ['cases', 'create', name, '--from', 'lost.csv'];
    const droppingServer = createServer((socket) => socket.once('data', () => socket.destroy()));
    await new Promise<void>((resolve) => droppingServer.listen(0, '127.0.0.1', resolve));
    whenDone(() => new Promise((resolve) => droppingServer.close(resolve)));
    const baseUrl = `http://127.0.0.1:${(droppingServer.address() as AddressInfo).port}`;
    const lossResult = await service.cli([...argv.with(2, id), '--base-url', baseUrl, '--timeout', '2s', '--json']);
    const { error } = JSON.parse(lossResult.stderr) as { error: { hint: string; idempotency_key: string } };
    expect(error.idempotency_key).toMatch(/^aops-cases-/);
    expect(error.hint).toBe('Run the same command again: it repeats that batch with the same key and continues.');
  });

  it('continues an import of a thousand rows after a crash at any point without duplicates', async () => {
    const { name, id } = await queue();
    await service.file('many.ndjson', Array.from({ length: 1_000 }, (_, index) => `{"title":"case ${index}"}\n`).join(''));
    const argv = ['cases', 'create', name, '--from', 'many.ndjson', '--json'];
    let interrupt = (): void => undefined;
    // A second import of the same file is rejected while the first is running.
    const first = service.cli(argv, {
      onStart: (stop) => {
        interrupt = stop;
      },
    });
    while ((await service.api<{ total: number }>('GET', `/queues/${id}/cases?limit=1`)).total < 300)
      await new Promise((resolve) => setImmediate(resolve));
    expect(await service.cli(argv)).toMatchObject({ code: 6, stdout: '' });
    interrupt();
    const firstResult = await first;
    expect(firstResult.code).toBe(130);
    expect(firstResult.stderr).toContain('Run the same command again to continue.');
    // A single key is not enough for several batches.
    expect(firstResult.stderr).not.toContain('--idempotency-key');
    // Simulates a process killed before it read the response, while it wrote the ledger.
    const ledger = (await service.read('many.ndjson.aops-ledger')).trimEnd().split('\n');
    const finishedLines = ledger.filter((line) => line.includes('"created"'));
    expect(finishedLines.length).toBeGreaterThan(1);
    await service.file('many.ndjson.aops-ledger', `${ledger.filter((line) => line !== finishedLines.at(-1)).join('\n')}\n{"batch":`);
    const second = await service.cli(argv);
    expect(second).toMatchObject({ code: 0, stderr: '' });
    const { created, created_before } = second.json<{ created: number; created_before: number }>();
    expect(created + created_before).toBe(1_000);
    const titles = (await cases(id)).map(({ title }) => title);
    expect(titles).toHaveLength(1_000);
    expect(new Set(titles).size).toBe(1_000);
  });

  it('keeps every line that is written after one that was cut off', async () => {
    const { name, id } = await queue();
    await service.file('torn.ndjson', '{"title":"a"}\n');
    const argv = ['cases', 'create', name, '--from', 'torn.ndjson', '--json'];
    expect((await service.cli(argv)).code).toBe(0);
    const ledgerText = await service.read('torn.ndjson.aops-ledger');
    // Simulates a process that was killed while it recorded the response.
    await service.file('torn.ndjson.aops-ledger', ledgerText.slice(0, -20));
    expect((await service.cli(argv)).json()).toMatchObject({ created: 1, created_before: 0 });
    const lines = (await service.read('torn.ndjson.aops-ledger')).trimEnd().split('\n');
    expect(JSON.parse(lines.at(-1) as string)).toEqual({ batch: 1, created: 1, failed: [] });
    // Nothing needs to be sent again, however much later.
    expect((await service.cli(argv)).json()).toMatchObject({ created: 0, created_before: 1 });
    expect(await cases(id)).toHaveLength(1);
  });

  it('starts over when the ledger is empty, because nothing was sent before its first line', async () => {
    const { name, id } = await queue();
    await service.file('bare.ndjson', '{"title":"a"}\n');
    await service.file('bare.ndjson.aops-ledger', '');
    expect((await service.cli(['cases', 'create', name, '--from', 'bare.ndjson', '--json'])).json()).toMatchObject({ created: 1 });
    expect(await cases(id)).toHaveLength(1);
  });

  it('does not repeat a batch whose key may have expired', async () => {
    const { name, id } = await queue();
    await service.file('old.ndjson', '{"title":"a"}\n');
    expect((await service.cli(['cases', 'create', name, '--from', 'old.ndjson'])).code).toBe(0);
    const [head] = (await service.read('old.ndjson.aops-ledger')).split('\n');
    await service.file('old.ndjson.aops-ledger', `${head}\n{"batch":1,"begun":"2026-01-01T00:00:00.000Z"}\n`);
    const refusal = await service.cli(['cases', 'create', name, '--from', 'old.ndjson']);
    expect(refusal).toMatchObject({ code: 13, stdout: '' });
    expect(refusal.stderr).toContain('Batch 1 was sent at 2026-01-01T00:00:00.000Z without a response');
    expect(await cases(id)).toHaveLength(1);
  });

  it('does not repeat a batch with another credential, because keys belong to a credential', async () => {
    const { name, id } = await queue();
    await service.file('by.ndjson', '{"title":"a"}\n');
    const argv = ['cases', 'create', id, '--from', 'by.ndjson'];
    expect((await service.cli(argv)).code).toBe(0);
    const lines = (await service.read('by.ndjson.aops-ledger')).trimEnd().split('\n');
    expect(lines.join()).not.toContain(service.service.token);
    await service.file('by.ndjson.aops-ledger', `${lines.slice(0, -1).join('\n')}\n`);
    const otherResult = await service.cli(argv, { env: { AOPS_API_KEY: 'aops_token_of_somebody_else' } });
    expect(otherResult).toMatchObject({ code: 13, stdout: '' });
    expect(otherResult.stderr).toMatch(/Batch 1 was sent with the credential aops_\S+ without a response/);
    expect(otherResult.stderr).toContain('hint: Run this again with that credential, because keys belong to a credential.');
    expect((await service.cli(['cases', 'create', name, '--from', 'by.ndjson'])).code).toBe(0);
    expect(await cases(id)).toHaveLength(1);
    // The same queue at another address is a different import.
    const elsewhere = await service.cli([...argv, '--base-url', 'http://127.0.0.1:9']);
    expect(elsewhere).toMatchObject({ code: 2, stdout: '' });
    expect(elsewhere.stderr).toContain(`was sent to ${service.service.url}, but this profile uses http://127.0.0.1:9.`);
  });

  it('shows only the first request with --dry-run', async () => {
    const { name, id } = await queue();
    await service.file('dry.csv', 'title\na\nb\n');
    const result = await service.cli(['cases', 'create', name, '--from', 'dry.csv', '--dry-run', '--quiet']);
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.json()).toMatchObject({ method: 'POST', body: { cases: [{ title: 'a' }, { title: 'b' }] } });
    expect(await cases(id)).toHaveLength(0);
    expect(exists('dry.csv.aops-ledger')).toBe(false);
  });

  it.each([
    ['none.csv', undefined, [], 'there is no such file'],
    ['x.txt', 'a', [], 'x.txt is not a .csv, .json, .ndjson or .jsonl file.'],
    ['empty.csv', '', [], 'is empty'],
    ['header.csv', 'title\n', [], 'has no rows'],
    ['short.csv', 'title,b\nx\n', [], 'short.csv:2: the row has 1 cell, but the header has 2 columns.'],
    ['quote.csv', 'title\n"x\n', [], 'quote.csv:2: a quote is not closed.'],
    ['after.csv', 'title\n"x"y\n', [], 'after.csv:2: there is text after a closing quote.'],
    ['line.csv', 'title\r\n"a\r\nb"\r\n\r\n"c\r\n"d"\r\n', [], 'line.csv:5: there is text after a closing quote.'],
    ['unquoted.csv', 'title\n"a"\n27" display\n', [], 'unquoted.csv:3: a quote is in the middle of a cell that does not begin with one.'],
    ['twice.csv', 'title,title\nx,y\n', [], 'twice.csv:1: the column "title" appears twice.'],
    ['untitled.csv', 'a,b\n1,2\n', [], 'No column is mapped to the title.'],
    ['map.csv', 'a\n1\n', ['--map', 'a=name'], '"a=name" is not a valid --map; write COLUMN=title'],
    ['bad.json', '{', [], 'bad.json is not valid JSON'],
    ['object.json', '{"x":1}', [], 'object.json does not contain a list'],
    ['line.ndjson', '{"title":"a"}\n[]\n', [], 'line.ndjson:2 is not an object.'],
    ['bytes.csv', new Uint8Array([0x74, 0xff]), [], 'bytes.csv is not UTF-8.'],
    ['title.csv', 'title\nx\n', ['y'], 'TITLE and --data cannot be combined with --from'],
    ['key.csv', 'title\nx\n', ['--idempotency-key', 'k'], '--idempotency-key cannot be combined with --from'],
  ])('rejects %s', async (file, content, flags, message) => {
    const { name, id } = await queue();
    if (content !== undefined) await service.file(file, content);
    const refusal = await service.cli(['cases', 'create', name, '--from', file, ...flags]);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain(message);
    expect(await cases(id)).toHaveLength(0);
    expect(exists(`${file}.aops-ledger`)).toBe(false);
  });

  it('names the file that cannot be written', async () => {
    const { name, id } = await queue();
    const longText = `${'n'.repeat(245)}.csv`;
    await service.file(longText, 'title\na\n');
    const unlockResult = await service.cli(['cases', 'create', name, '--from', longText, '--json']);
    expect(unlockResult).toMatchObject({ code: 1, stdout: '' });
    expect(JSON.parse(unlockResult.stderr)).toMatchObject({
      error: { code: 'not_writable', message: expect.stringMatching(/aops-lock is too long for this system\.$/) },
    });
    await service.file('taken.failed.csv/x', '');
    await service.file('taken.csv', 'title,priority\na,\nb,urgent\n');
    const failure = await service.cli(['cases', 'create', name, '--from', 'taken.csv']);
    expect(failure).toMatchObject({ code: 1, stdout: '' });
    expect(failure.stderr).toMatch(/taken\.failed\.csv is a folder\.\nhint: Move it away/);
    // Existing files remain; the failed rows are written as soon as possible.
    expect(await cases(id)).toHaveLength(1);
    await rm(path.join(service.folder, 'taken.failed.csv'), { recursive: true });
    expect((await service.cli(['cases', 'create', name, '--from', 'taken.csv', '--json'])).json()).toMatchObject({
      created_before: 1,
      failed: 1,
    });
  });

  it('rejects standard input, and --map without --from', async () => {
    const { name } = await queue();
    expect((await service.cli(['cases', 'create', name, '--from', '-'])).stderr).toContain(
      '--from needs a file and cannot read standard input',
    );
    expect((await service.cli(['cases', 'create', name, '--map', 'a=title'])).stderr).toContain('--map requires --from.');
  });
});

describe('rows and columns', () => {
  it('are read with any delimiter and line ending', () => {
    for (const separator of [',', ';', '\t']) {
      const text = `title${separator}"a${separator}b"\n"x ""y"""${separator}1\n\n \nz${separator}\n`;
      const { columns, rows } = readRows(bytes(text), 'x.csv');
      expect(columns).toEqual(['title', `a${separator}b`]);
      expect(rows.map(({ values }) => Object.values(values))).toEqual([
        ['x "y"', '1'],
        ['z', ''],
      ]);
    }
  });

  it('contain quotes as text where no cell begins with one', () => {
    const { rows } = readRows(bytes('title\tsize\nFlat display\t27"\n'), 'x.tsv');
    expect(rows.map(({ values }) => values)).toEqual([{ title: 'Flat display', size: '27"' }]);
  });

  it('are read as they were written, whatever they contain', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', 'é', '"', ',', ';', '\t', '\n', '\r\n', ' ') });
    const table = fc
      .integer({ min: 2, max: 4 })
      .chain((width) => fc.array(fc.array(cell, { minLength: width, maxLength: width }), { minLength: 1 }));
    fc.assert(
      fc.property(table, (rows) => {
        const header = (rows[0] as string[]).map((_, index) => `c${index}`);
        let line = 2;
        const expected = rows.map((cells) => {
          const row = { line, cells };
          line += cells.join('').split('\n').length;
          return row;
        });
        expect(parseCsv(toCsv(header, rows), 'x.csv')).toEqual({ header, rows: expected });
      }),
    );
  });

  it('are converted to numbers only without loss', () => {
    const file = readRows(bytes('title,v\na,12\nb,-1.5\nc,1e3\nd,0012\ne,1.50\nf,12345678901234567890\ng,0x10\n'), 'x.csv');
    const { drafts } = makeDrafts(file, { map: [], labels: [], priority: undefined }, 'x.csv');
    expect(drafts.map(({ draft }) => draft.data)).toEqual([
      '{"v":12}',
      '{"v":-1.5}',
      '{"v":"1e3"}',
      '{"v":"0012"}',
      '{"v":"1.50"}',
      '{"v":"12345678901234567890"}',
      '{"v":"0x10"}',
    ]);
  });

  it('are overridden by --map', () => {
    const file = readRows(bytes('title,subject,data\nold,new,text\n'), 'x.csv');
    const { drafts } = makeDrafts(file, { map: ['subject=title'], labels: [], priority: undefined }, 'x.csv');
    expect(drafts[0]?.draft).toEqual({ title: 'new', data: 'text' });
  });

  it('can have the names of inherited properties', () => {
    const read = (text: string, name: string) =>
      makeDrafts(readRows(bytes(text), name), { map: [], labels: [], priority: undefined }, name);
    const { drafts } = read('title,constructor,__proto__\na,1,2\n', 'x.csv');
    expect(drafts.map(({ draft }) => draft.data)).toEqual(['{"constructor":1,"__proto__":2}']);
    // This row lacks a column that another row has.
    const sparseDrafts = makeDrafts(
      readRows(bytes('[{"title":"a","valueOf":"x"},{"title":"b"}]'), 'x.json'),
      { map: ['valueOf=data'], labels: [], priority: undefined },
      'x.json',
    );
    expect(sparseDrafts.drafts.map(({ draft }) => draft)).toEqual([{ title: 'a', data: 'x' }, { title: 'b' }]);
  });

  it('are kept when their labels are empty', () => {
    const text = '{"title":"a","labels":5}\n{"title":"b","labels":true}\n{"title":"c","labels":{"k":null,"n":5}}\n';
    const { drafts, failedRows } = makeDrafts(readRows(bytes(text), 'x.ndjson'), { map: [], labels: [], priority: undefined }, 'x.ndjson');
    expect(failedRows).toEqual([
      { row: 1, reason: '"5" is not a label; write vendor=acme or urgent' },
      { row: 2, reason: '"true" is not a label; write vendor=acme or urgent' },
    ]);
    expect(drafts.map(({ draft }) => draft)).toEqual([{ title: 'c', labels: [{ key: 'n', value: '5' }] }]);
  });

  it('report what is invalid in a row', () => {
    const file = readRows(bytes(`title,labels\n${'x'.repeat(501)},\na,vendor=\n`), 'x.csv');
    const { failedRows } = makeDrafts(file, { map: [], labels: [], priority: undefined }, 'x.csv');
    expect(failedRows).toEqual([
      { row: 1, reason: 'the title has 501 characters; at most 500 are allowed' },
      { row: 2, reason: '"vendor=" is not a label; write vendor=acme or urgent' },
    ]);
  });
});
