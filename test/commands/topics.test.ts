/** Compares the statements of `aops help TOPIC` with the program. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { exampleProcedure, stepRows } from '../../src/cli/program/topics/procedures.ts';
import { topics, topicText } from '../../src/cli/program/topics/topics.ts';
import { startTestService, type TestService } from '../support/service.ts';

const project = path.join(import.meta.dirname, '../..');
const help = (topic: string): string => {
  const found = topics[topic];
  if (found === undefined) throw new Error(`there is no topic ${topic}`);
  return topicText(found);
};

/** Every environment variable that the sources read. */
function variablesRead(): Set<string> {
  const folder = path.join(project, 'src');
  const foundNames = new Set<string>();
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts')) continue;
    const source = readFileSync(path.join(folder, file), 'utf8');
    for (const [, name] of source.matchAll(/\benv(?:ironment)?\??\.([A-Z][A-Z0-9_]+)\b/g)) foundNames.add(name as string);
    for (const [, name] of source.matchAll(/\benv(?:ironment)?(?:\?\.)?\[['"]([A-Z][A-Z0-9_]+)['"]\]/g)) foundNames.add(name as string);
    for (const [, name] of source.matchAll(/['"](AOPS_[A-Z_]+[A-Z])['"]/g)) foundNames.add(name as string);
  }
  return foundNames;
}

describe('aops help environment', () => {
  it('lists every variable that the program reads', () => {
    const readVariables = variablesRead();
    for (const variable of ['AOPS_API_KEY', 'AOPS_WEBHOOK_SECRET', 'VISUAL', 'EDITOR', 'CI', 'TERM'])
      expect(readVariables).toContain(variable);
    const [ownSection = '', surroundings = ''] = help('environment').split('Set by the system and other programs:');
    // The variables of aops have rows of their own: a mention in the description of another variable is not enough.
    const rows = [...ownSection.matchAll(/^ {2}([A-Z][A-Z0-9_]+) {2}/gm)].map(([, name]) => name);
    const listedVariables = new Set([...rows, ...(surroundings.match(/\b[A-Z][A-Z0-9_]+\b/g) ?? [])]);
    expect([...readVariables].filter((name) => !listedVariables.has(name))).toEqual([]);
  });
});

describe('aops help procedures', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });

  it('lists every kind of step', () => {
    const schema = JSON.parse(readFileSync(path.join(project, 'docs/procedure.schema.json'), 'utf8')) as {
      properties: { steps: { items: { anyOf: { required: string[] }[] } } };
    };
    const steps = schema.properties.steps.items.anyOf.map(({ required }) => required[0] as string);
    expect(steps).toContain('approve');
    expect(stepRows.map(([word]) => word.replace(/:.*/, '')).sort()).toEqual(steps.sort());
    for (const step of steps) expect(help('procedures')).toMatch(new RegExp(`^  ${step}\\b`, 'm'));
  });

  it('has an example that works', async () => {
    await service.file('example.yaml', `${exampleProcedure.join('\n')}\n`);
    expect(await service.cli(['agents', 'create', 'example', '--procedure', 'example.yaml', '--quiet'])).toMatchObject({
      code: 0,
      stderr: '',
    });
    await service.file('answers.yaml', 'answers: { "Which vendor?": Bolt }\napprovals: { "Pay Bolt?": true }\n');
    const run = await service.cli([
      'runs',
      'start',
      '--agent',
      'example',
      '--message',
      'March',
      '--answers',
      'answers.yaml',
      '--pull',
      'out',
    ]);
    expect(run.stderr + run.stdout).toContain('You wrote: March');
    expect([run.code, await service.read('out/paid.txt')]).toEqual([0, 'Bolt']);
  });

  it('is mentioned in the error for an invalid procedure', async () => {
    await service.file('wrong.yaml', 'steps: []\n');
    const refusal = await service.cli(['agents', 'create', 'wrong', '--procedure', 'wrong.yaml']);
    expect(refusal.stderr).toContain('hint: Nothing was changed. See `aops help procedures`.');
    expect(refusal.stderr).not.toContain('docs/');
  });
});
