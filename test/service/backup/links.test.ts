/** Where links lead, compared with where the kernel follows them. */
import { existsSync, mkdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { faultyLinks } from '../../../src/service/backup/links.ts';
import { temporaryDirectory } from '../../support/temporary.ts';

const home = 'sandboxes/a';
const folders = ['', '/d', '/d/e'].map((inner) => `${home}/workspace${inner}`);
const names = folders.flatMap((folder) => ['l', 'm', 'n'].map((name) => `${folder}/${name}`));
const step = fc.constantFrom('l', 'm', 'n', 'd', 'e', '..', '..', '..', '.', 'd/');
const targets = fc.array(
  fc.array(step, { minLength: 1, maxLength: 6 }).map((steps) => steps.join('/')),
  { minLength: names.length, maxLength: names.length },
);

it('rejects every link that the kernel follows out of its sandbox, and accepts those that never leave it', async () => {
  const root = realpathSync.native(await temporaryDirectory());
  const counts = { inside: 0, outside: 0 };
  fc.assert(
    fc.property(targets, (targetList) => {
      rmSync(path.join(root, home), { recursive: true, force: true });
      for (const folder of folders) mkdirSync(path.join(root, folder), { recursive: true });
      const links = new Map(names.map((name, index): [string, string] => [name, targetList[index] as string]));
      for (const [name, target] of links) symlinkSync(target, path.join(root, name));
      const faults = faultyLinks(links);
      for (const name of names.filter((candidate) => existsSync(path.join(root, candidate)))) {
        const isInside = realpathSync.native(path.join(root, name)).startsWith(path.join(root, home, '/'));
        if (isInside) counts.inside += faults.has(name) ? 0 : 1;
        else {
          expect(faults.get(name), `${name} of ${JSON.stringify([...links])}`).toBe('leads out of its sandbox');
          counts.outside += 1;
        }
      }
    }),
    { numRuns: 300, seed: 20_261_122 },
  );
  expect(Math.min(counts.inside, counts.outside)).toBeGreaterThan(100);
});

it.each([
  ['a plain target', { l: 'd/x' }, {}],
  ['a target that does not exist', { l: 'no/such/../thing' }, {}],
  ['a neighbouring folder', { l: '../tmp/x' }, {}],
  ['a loop', { l: 'm', m: 'l/../../../../etc', n: 'n' }, {}],
  ['the folder of its sandbox', { l: '..' }, { l: 'leads out of its sandbox' }],
  ['another sandbox', { l: '../../b/workspace/x' }, { l: 'leads out of its sandbox' }],
  ['a sandbox with a longer ID', { l: '../../ab/workspace/x' }, { l: 'leads out of its sandbox' }],
  ['an absolute target', { l: '/etc/passwd' }, { l: 'leads out of its sandbox' }],
  ['an empty target', { l: '' }, { l: 'leads out of its sandbox' }],
  ['a name with a NUL', { l: 'd\0' }, { l: 'leads out of its sandbox' }],
  ['a link that leads out', { l: 'm/x', m: '/etc', n: 'd' }, { l: 'leads out of its sandbox', m: 'leads out of its sandbox' }],
])('a link to %s', (_, links, expected) => {
  const pathMap = <Value extends string>(values: Record<string, Value>) =>
    new Map(Object.entries(values).map(([name, value]): [string, Value] => [`${home}/workspace/${name}`, value]));
  expect(faultyLinks(pathMap(links as Record<string, string>))).toEqual(pathMap(expected as Record<string, string>));
});

it('follows each link once, even if the number of paths doubles at each step', () => {
  const doubling = new Map([[`${home}/workspace/l0`, 'd']]);
  for (let index = 1; index <= 40; index++) doubling.set(`${home}/workspace/l${index}`, `l${index - 1}/../l${index - 1}`);
  expect(faultyLinks(new Map([...doubling].reverse()))).toEqual(new Map([[`${home}/workspace/l40`, 'leads through too many other links']]));
});
