/** Readers of a stream that are killed with SIGKILL, as processes that append to a file. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { jsonValue } from '../../src/base/values.ts';
import type { RunEvent } from '../../src/watch/events.ts';
import { eventually } from '../support/eventually.ts';
import { kill, Machine } from '../support/machine.ts';

const phases = 4;

it('a reader that is killed and resumed writes every event once with @FILE, and loses none with auto', async () => {
  const machine = await Machine.create();
  expect((await machine.here('local', 'up', '--exec', 'host')).code).toBe(0);
  // Each phase writes messages after the test has opened its gate.
  const gate = (phase: number): string => `${machine.folder}/gate${phase}`;
  const steps = Array.from(
    { length: phases },
    (_, phase) => `
- exec: { run: "until test -e ${gate(phase)}; do sleep 0.02; done" }
${Array.from({ length: 8 }, (_, index) => `- say: "m${phase}.${index}"`).join('\n')}`,
  );
  await machine.agent('phases', steps.join(''));
  const run = await machine.startRun('phases');
  const file = (name: string): string => path.join(machine.folder, `${name}.ndjson`);
  const read = async (name: string): Promise<RunEvent[]> =>
    (await readFile(file(name), 'utf8').catch(() => '')).split('\n').flatMap((line) => {
      const value = jsonValue(line);
      return value === undefined ? [] : [value as RunEvent];
    });
  const textsIn = (events: RunEvent[]): string[] =>
    events.flatMap(({ type, data }) =>
      type === 'message' && data.message.text_content?.startsWith('m') ? [data.message.text_content] : [],
    );

  async function watchWithKills(name: string, resume: string, kills: number): Promise<void> {
    const command = `exec aops runs watch ${run} -o ndjson --resume ${resume} >> ${file(name)}`;
    for (let phase = 0; phase < kills; phase += 1) {
      const reader = machine.start('sh', ['-c', command]);
      await machine.file(`gate${phase}`, '');
      // The reader dies between the first and the last message of the phase, or shortly after them.
      await eventually('the phase begins', async () => textsIn(await read(name)).includes(`m${phase}.${phase}`));
      kill(reader.child.pid as number, 'SIGKILL');
      await reader.finished;
    }
    expect(await machine.run('sh', ['-c', command])).toMatchObject({ code: 0, stderr: '' });
  }

  await watchWithKills('exact', `@${file('exact')}`, phases);
  await watchWithKills('auto', 'auto', 2);

  const all = Array.from({ length: phases }, (_, phase) => Array.from({ length: 8 }, (_, index) => `m${phase}.${index}`)).flat();
  const exact = await read('exact');
  expect(textsIn(exact)).toEqual(all);
  expect(exact.map(({ seq }) => seq)).toEqual(exact.map((_, index) => index + 1));
  expect(exact.at(-1)?.type).toBe('run.finished');

  // With auto, the event that was printed last before a kill can appear once more.
  const auto = await read('auto');
  const numbers = auto.map(({ seq }) => seq);
  expect([...new Set(numbers)]).toEqual(Array.from({ length: Math.max(...numbers) }, (_, index) => index + 1));
  expect(numbers.length - new Set(numbers).size).toBeLessThanOrEqual(2);
  expect([...new Set(textsIn(auto))]).toEqual(all);
});
