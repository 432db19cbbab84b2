import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Compile } from 'typebox/compile';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { procedureJsonSchema, stepKinds } from '../../../../src/service/runtimes/script/schema.ts';
import { scriptRuntime } from '../../../../src/service/runtimes/script/script-runtime.ts';

const root = path.resolve(import.meta.dirname, '../../../..');
const schema = Compile(procedureJsonSchema());

it('publishes its JSON Schema', async () => {
  // Updated by `npx vitest run test/service/runtimes/script/schema.test.ts --update`.
  await expect(`${JSON.stringify(procedureJsonSchema(), null, 2)}\n`).toMatchFileSnapshot(path.join(root, 'docs/procedure.schema.json'));
});

describe('docs/procedures.md', async () => {
  const text = await readFile(path.join(root, 'docs/procedures.md'), 'utf8');
  const examples = [...text.matchAll(/```yaml\n(version: 1\n[\s\S]*?)```/g)].map(([, example]) => example as string);

  it('has an example of every step', () => {
    expect(examples.length).toBeGreaterThan(10);
    const usedKinds = new Set(
      examples.flatMap((example) => (parse(example) as { steps: object[] }).steps.flatMap((step) => Object.keys(step))),
    );
    expect([...usedKinds].sort()).toEqual([...stepKinds, 'if'].sort());
    for (const kind of stepKinds) expect(text).toContain(`\n### ${kind}\n`);
  });

  it.each(examples)('has a valid example: %s', (example) => {
    scriptRuntime.validate(example);
    expect([...schema.Errors(parse(example))]).toEqual([]);
  });
});

it.each([
  ['say: 3'],
  ['aks: x'],
  ['say: x\n    exec: { run: ls }'],
  ['exec: { run: ls, tiemout: 2s }'],
  ['sleep: soon'],
  ['ask: { id: who, questions: [] }'],
])('refuses %s in the schema and in the service', (step) => {
  const text = `version: 1\nsteps:\n  - ${step}\n`;
  expect(() => scriptRuntime.validate(text)).toThrow();
  expect(schema.Check(parse(text))).toBe(false);
});
