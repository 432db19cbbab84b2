import { expect, it } from 'vitest';
import type { Runtime } from '../../../src/service/runtimes/runtime.ts';
import { stepKinds } from '../../../src/service/runtimes/script/schema.ts';
import { scriptRuntime } from '../../../src/service/runtimes/script/script-runtime.ts';
import { covers } from '../helpers/coverage.ts';

const service = covers('plugins');

it('lists the runtimes and their capabilities', async () => {
  const plain: Runtime = { ...scriptRuntime, name: 'plain', description: 'Does nothing.', parts: [] };
  const api = await service({ runtimes: [scriptRuntime, plain], exec: 'host' });
  const { plugins } = await api.ok('listPluginCatalog');
  expect(plugins.filter(({ type }) => type === 'runtime')).toEqual([
    { name: 'script', type: 'runtime', description: 'Executes the steps of a procedure in order, without a model.' },
    { name: 'plain', type: 'runtime', description: 'Does nothing.' },
  ]);
  const steps = plugins.filter(({ type }) => type === 'step');
  expect(steps.map(({ name }) => name)).toEqual(stepKinds.map((kind) => `script.${kind}`));
  expect(steps.every(({ description }) => description.endsWith('.'))).toBe(true);
  expect(new Set(plugins.map(({ name }) => name)).size).toBe(plugins.length);
});

it('leaves out capabilities that cannot be used', async () => {
  const api = await service({ runtimes: [scriptRuntime], exec: 'off' });
  const names = (await api.ok('listPluginCatalog')).plugins.map(({ name }) => name);
  expect(names).toContain('script.say');
  expect(names).not.toContain('script.exec');
});
