/** The cache of compiled code, in processes of the built program. */
import { chmod, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { binary, Machine, needsScript } from '../support/machine.ts';
import { itNeeding, needsPosix } from '../support/requirements.ts';

const listTopics = async (machine: Machine) => {
  const { code, stdout, stderr } = await machine.aops('help', 'exit-codes');
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
};

async function machineWithOwnCache(): Promise<Machine> {
  const machine = await Machine.create();
  delete machine.env.NODE_COMPILE_CACHE;
  return machine;
}

/** The files of compiled code, and their contents by name. */
async function cachedCode(machine: Machine) {
  const folder = path.join(machine.folder, 'cache/code');
  const [version] = await readdir(folder).catch(() => []);
  if (version === undefined) return { folder, files: new Map<string, Buffer>() };
  const names = await readdir(path.join(folder, version));
  const contents = names.map(async (name) => [path.join(folder, version, name), await readFile(path.join(folder, version, name))] as const);
  return { folder, files: new Map(await Promise.all(contents)) };
}

itNeeding(needsScript ?? needsPosix, 'stores compiled code, and replaces it only if it is damaged', async () => {
  const machine = await machineWithOwnCache();
  const output = await listTopics(machine);
  const { files } = await cachedCode(machine);
  expect(files.size).toBeGreaterThan(1);

  // V8 would crash with some of this code.
  const damages: ((code: Buffer) => Buffer)[] = [
    (code) => Buffer.concat([code.subarray(0, -1), Buffer.from([(code.at(-1) as number) ^ 1])]),
    (code) => code.subarray(0, code.length / 2),
    () => Buffer.alloc(0),
  ];
  const [[file, code]] = [...files] as [[string, Buffer]];
  for (const damage of damages) {
    await writeFile(file, damage(code));
    expect(await listTopics(machine)).toBe(output);
    expect((await readFile(file)).length).toBeGreaterThan(code.length / 2);
  }

  const repaired = (await cachedCode(machine)).files;
  expect(await listTopics(machine)).toBe(output);
  expect((await cachedCode(machine)).files).toEqual(repaired);
});

itNeeding(needsScript ?? needsPosix, 'adds what each command compiles, once', async () => {
  const machine = await machineWithOwnCache();
  const coreOf = async (): Promise<Buffer> => {
    const { files } = await cachedCode(machine);
    const [[, content]] = [...files].filter(([file]) => path.basename(file).startsWith('core-')) as [[string, Buffer]];
    return content;
  };
  const first = await listTopics(machine).then(coreOf);
  const lists = ['agents', 'queues'].map((group) => [group, '--help']);
  let before = first;
  for (const argv of lists) {
    await machine.aops(...argv);
    const after = await coreOf();
    expect(after.equals(before)).toBe(false);
    before = after;
  }
  // Help needs other functions than a topic.
  expect(before.length).toBeGreaterThan(first.length);
  for (const argv of lists) await machine.aops(...argv);
  await listTopics(machine);
  expect((await coreOf()).equals(before)).toBe(true);
});

itNeeding(needsScript ?? needsPosix, 'neither reads nor writes a folder that other users can change', async () => {
  const machine = await machineWithOwnCache();
  await listTopics(machine);
  const { folder, files } = await cachedCode(machine);
  for (const file of files.keys()) await writeFile(file, 'not code');
  await chmod(folder, 0o777);
  await listTopics(machine);
  for (const content of (await cachedCode(machine)).files.values()) expect(content.toString()).toBe('not code');
});

itNeeding(needsScript, 'can be turned off, and moved to another folder', async () => {
  const machine = await machineWithOwnCache();
  machine.env.NODE_DISABLE_COMPILE_CACHE = '1';
  await listTopics(machine);
  expect((await cachedCode(machine)).files.size).toBe(0);

  machine.env.NODE_DISABLE_COMPILE_CACHE = '';
  machine.env.NODE_COMPILE_CACHE = path.join(machine.folder, 'elsewhere');
  await listTopics(machine);
  expect(await readdir(machine.env.NODE_COMPILE_CACHE)).toHaveLength(1);
  expect((await cachedCode(machine)).files.size).toBe(0);
});

it('reads chunks as ASCII, which they are', async () => {
  const folder = path.join(path.dirname(binary), '../dist');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.js'));
  expect(names.length).toBeGreaterThan(100);
  for (const name of names.filter((name) => /-[\w-]{8}\.js$/.test(name)))
    expect((await readFile(path.join(folder, name), 'latin1')).search(/[^\0-\x7f]/), name).toBe(-1);
});
