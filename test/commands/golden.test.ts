/**
 * The output of each command on narrow, normal and wide terminals and in a pipe, for data that is ordinary, hostile or minimal. The
 * texts are in golden/; review the differences, then accept them with `npx vitest run test/commands/golden.test.ts -u`.
 */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { AnyCommand } from '../../src/cli/kit/command.ts';
import { wholeList } from '../../src/cli/kit/list.ts';
import { loadAllCommands } from '../../src/cli/program/describe.ts';
import { presentResult } from '../../src/cli/program/present.ts';
import { commandTree } from '../../src/commands/index.ts';
import { sampleOf } from '../support/samples.ts';
import { presentingContext, showResult } from '../support/shown-result.ts';
import { fakeTerminal } from '../terminal/fake-streams.ts';

const folder = path.join(import.meta.dirname, 'golden');
const commands = (await loadAllCommands(commandTree)).filter(({ command }) => command.output !== undefined);
const widths = [40, 80, 120] as const;

const isList = ({ output }: AnyCommand): boolean => output?.kind === 'list' || output?.kind === 'raw';

/** The results to print, by kind. */
function results(command: AnyCommand): [string, unknown][] {
  const [ordinarySample, hostileSample, bareSample] = [
    sampleOf(command, 'ordinary', 1),
    sampleOf(command, 'hostile', 2),
    sampleOf(command, 'bare', 3),
  ];
  if (isList(command))
    return [
      ['rows', wholeListTwice([ordinarySample, hostileSample, bareSample])],
      ['no rows', wholeListTwice([])],
    ];
  return [
    ['ordinary', () => ordinarySample],
    ['hostile', () => hostileSample],
    ['bare', () => bareSample],
  ];
}

/** A list can be read only once, so each width gets its own. */
const wholeListTwice = (rows: unknown[]) => (): unknown => wholeList(rows);

describe.each(commands.map(({ path: words, command }): [string, AnyCommand] => [words.join(' '), command]))('aops %s', (id, command) => {
  it('prints the expected output', async () => {
    const parts: string[] = [];
    for (const [label, make] of results(command)) {
      for (const columns of [...widths, undefined]) {
        const { stdout, stderr } = await showResult(command, (make as () => unknown)(), columns);
        parts.push(
          `=== ${label}, ${columns === undefined ? 'in a pipe' : `${columns} columns`}\n${stdout}${stderr && `(stderr) ${stderr}`}`,
        );
        // biome-ignore lint/suspicious/noControlCharactersInRegex: the output must not contain them
        expect(stdout + stderr, `${label} at ${columns}`).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
      }
    }
    await expect(`${parts.join('\n')}`).toMatchFileSnapshot(path.join(folder, `${id.replaceAll(' ', '-')}.txt`));
  });

  it('prints the same data in every other format', async () => {
    const [ordinarySample, hostileSample, bareSample] = [
      sampleOf(command, 'ordinary', 1),
      sampleOf(command, 'hostile', 2),
      sampleOf(command, 'bare', 3),
    ];
    const rows = isList(command) ? [ordinarySample, hostileSample, bareSample] : [hostileSample];
    const result = (): unknown => (isList(command) ? wholeList(rows) : hostileSample);
    const parsed = JSON.parse((await showResult(command, result(), undefined, { format: 'json' })).stdout) as unknown;
    expect(parsed).toEqual(isList(command) ? { data: rows, total: 3, limit: 3, offset: 0 } : hostileSample);
    const lines = (await showResult(command, result(), undefined, { format: 'ndjson' })).stdout.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(rows);
    expect(parse((await showResult(command, result(), undefined, { format: 'yaml' })).stdout)).toEqual(parsed);
    const [field = ''] = Object.keys(rows[0] as object);
    const filteredOutput = await showResult(command, result(), undefined, { format: 'json', fields: field });
    expect(isList(command) ? (JSON.parse(filteredOutput.stdout) as { data: unknown[] }).data : [JSON.parse(filteredOutput.stdout)]).toEqual(
      rows.map((row) => ({ [field]: row[field] ?? null })),
    );
    const csv = (await showResult(command, result(), undefined, { format: 'csv', fields: field })).stdout;
    expect(csv.startsWith(`${field}\r\n`)).toBe(true);
    for (const format of ['json', 'ndjson', 'yaml', 'csv', 'table'] as const) {
      const { stdout } = await showResult(command, result(), 80, { format, ...(format === 'table' ? { fields: field } : {}) });
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the output on a terminal must not contain them
      expect(stdout, format).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
    }
  });

  it('ends silently when its output is closed', async () => {
    const brokenStream = Object.assign(new PassThrough(), { isTTY: false });
    brokenStream._write = (_chunk, _encoding, callback) => callback(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    const fake = fakeTerminal({ stdout: brokenStream });
    const [[, make] = ['', () => undefined]] = results(command);
    await presentResult(presentingContext(fake.terminal, 'table'), command.output, (make as () => unknown)());
    expect(fake.stderr()).toBe('');
  });

  if (isList(command))
    it('reports an empty list on stderr and succeeds', async () => {
      for (const columns of [80, undefined]) {
        const { stdout, stderr } = await showResult(command, wholeList([]), columns);
        expect(stdout).toBe('');
        expect(stderr).toMatch(/\S.*\n$/);
      }
    });

  if (isList(command))
    it('prints one row per line in a pipe, whatever it contains', async () => {
      const rows = [sampleOf(command, 'ordinary'), sampleOf(command, 'hostile', 2), sampleOf(command, 'bare', 3)];
      const { stdout } = await showResult(command, wholeList(rows));
      expect(stdout.match(/\n/g)).toHaveLength(3);
      const cells = stdout
        .slice(0, -1)
        .split('\n')
        .map((line) => line.split('\t').length);
      expect(new Set(cells).size).toBe(1);
    });

  // The terminal wraps sentences and documents, such as trees and diffs.
  if (isList(command) || command.output?.kind === 'record')
    it('fits the terminal, except for long words and IDs', async () => {
      for (const columns of widths) {
        for (const [label, make] of results(command)) {
          const { stdout } = await showResult(command, (make as () => unknown)(), columns);
          for (const line of stdout.split('\n')) {
            // A single word, such as an ID, is not broken, so that it can be copied.
            const breakable = line
              .replace(/^ *[^:]{1,20}: +/, '')
              .trim()
              .includes(' ');
            if (breakable) expect(stringWidth(line), `${label} at ${columns}: ${line}`).toBeLessThanOrEqual(columns);
          }
        }
      }
    });
});

describe('golden texts', () => {
  it('exist only for existing commands', () => {
    const knownFiles = new Set(commands.map(({ path: words }) => `${words.join('-')}.txt`));
    expect(readdirSync(folder).filter((name) => !knownFiles.has(name))).toEqual([]);
  });
});
