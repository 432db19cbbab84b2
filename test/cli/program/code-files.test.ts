import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { commandHash, maxCommands, readCode, writeCode } from '../../../src/cli/program/code-files.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const script = (code: string) => ({ createCachedData: () => Buffer.from(code) });
const commands = Array.from({ length: maxCommands }, (_, index) => commandHash(['runs', String(index)]));

it.each([0, 1, maxCommands])('contain the code and %i commands', async (count) => {
  const folder = await temporaryFolder();
  const some = commands.slice(0, count);
  writeCode(folder, new Map([['core.js', { script: script('compiled'), commands: some }]]), 1);
  expect(readCode(path.join(folder, 'core.js'))).toEqual({ code: Buffer.from('compiled'), commands: some });
  expect(new Set(some).size).toBe(count);
});

it('are not read if a bit has changed, if they are incomplete, or if they do not exist', async () => {
  const folder = await temporaryFolder();
  const file = path.join(folder, 'core.js');
  writeCode(folder, new Map([['core.js', { script: script('compiled'), commands }]]), 1);
  const content = readFileSync(file);
  for (const position of [0, 4, 8, 255, content.length - 1]) {
    const changed = Buffer.from(content);
    changed.writeUInt8(changed.readUInt8(position) ^ 1, position);
    writeFileSync(file, changed);
    expect(readCode(file), `byte ${position}`).toBeUndefined();
  }
  for (const length of [0, 3, 100, content.length - 1]) {
    writeFileSync(file, content.subarray(0, length));
    expect(readCode(file), `${length} bytes`).toBeUndefined();
  }
  expect(readCode(path.join(folder, 'other.js'))).toBeUndefined();
});

it.each([
  [998, 1_000],
  [999, 2],
])('with %i others, leave %i in their folder, which contains 1,000 at most', async (others, left) => {
  const folder = await temporaryFolder();
  for (let index = 0; index < others; index += 1) writeFileSync(path.join(folder, `old-${index}.js`), '');
  const stored = { script: script('compiled'), commands };
  const files = new Map([
    ['core.js', stored],
    ['list.js', stored],
  ]);
  writeCode(folder, files, 1);
  expect(readdirSync(folder)).toHaveLength(left);
  expect(readCode(path.join(folder, 'list.js'))).toEqual({ code: Buffer.from('compiled'), commands });
});

it('create their folder', async () => {
  const folder = path.join(await temporaryFolder(), 'code', 'v1');
  writeCode(folder, new Map([['core.js', { script: script('compiled'), commands }]]), 1);
  expect(readCode(path.join(folder, 'core.js'))?.code.toString()).toBe('compiled');
});

it('are not written if V8 cannot provide the code, and nothing is thrown while the process ends', async () => {
  const folder = await temporaryFolder();
  const failing = {
    createCachedData: () => {
      throw new Error('no code');
    },
  };
  expect(() => writeCode(folder, new Map([['core.js', { script: failing, commands }]]), 1)).not.toThrow();
  expect(readdirSync(folder)).toEqual([]);
});
