/** A filter or a template of the user that computes forever, during which no code of aops is executed. */
import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { Machine } from '../support/machine.ts';
import { itNeeding, needsLinux } from '../support/requirements.ts';

/** CPU time after which a command that needs no service has started to compute, in milliseconds: many times what starting it takes. */
const begun = 1_500;

/** CPU time of the main thread of a process in milliseconds. */
const computed = (pid: number | undefined): number => Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;

for (const [name, ...flags] of [
  ['--jq', '--jq', 'def f: f; f'],
  ['--template', '--template', '{% for i in (1..1000000) %}{% for j in (1..1000000) %}{% endfor %}{% endfor %}'],
])
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    itNeeding(needsLinux, `${name} is ended by ${signal}`, async () => {
      const machine = await Machine.create();
      const { child } = machine.start('aops', ['commands', ...flags]);
      await eventually('it computes', async () => computed(child.pid) > begun);
      const ended = new Promise((resolve) => child.once('exit', (_, reason) => resolve(reason)));
      child.kill(signal);
      expect(await ended).toBe(signal);
    });
