/** Archives that try to write outside their directory: verification and restore agree on all of them, and neither changes other files. */
import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { newReadProgress, readBackup, restoreBackup } from '../../../src/service/backup/index.ts';
import { temporaryDirectory } from '../../support/temporary.ts';
import { archive, database, first, type Part, source } from './archives.ts';

const inertSignal = new AbortController().signal;
/** Only a few names, so that entries collide; two sandboxes, so that one can try to reach the other. */
const homes = ['sandboxes/a/workspace', 'sandboxes/b/workspace'];
const step = fc.constantFrom('l', 'm', 'd', 'd', '..', '..', '.', '', 'workspace', 'victim', 'x');
const someSteps = (minLength: number, maxLength: number) => fc.array(step, { minLength, maxLength });

const name = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.tuple(fc.constantFrom(...homes), fc.array(fc.constantFrom('l', 'm', 'd', 'x'), { minLength: 1, maxLength: 3 })),
  },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom(...homes, '..', 'files/r', 'sandboxes/a'), someSteps(1, 4)) },
);
const climb = fc.nat({ max: 12 }).map((times) => Array<string>(times).fill('..'));
/** Into something that may be a link, and up from there: the result depends on the link. */
const through = fc
  .tuple(fc.array(fc.constantFrom('l', 'm', 'd'), { minLength: 1, maxLength: 2 }), fc.integer({ min: 1, max: 3 }))
  .map(([downSteps, times]) => [...downSteps, ...Array<string>(times).fill('..')]);
const target = fc.oneof(
  { weight: 6, arbitrary: through },
  { weight: 4, arbitrary: someSteps(1, 5) },
  { weight: 2, arbitrary: fc.tuple(someSteps(0, 2), climb, someSteps(0, 3)).map((parts) => parts.flat()) },
  { weight: 1, arbitrary: someSteps(1, 3).map((parts) => ['', ...parts]) },
);
const part: fc.Arbitrary<Part> = fc
  .record({ name, type: fc.constantFrom('file', 'folder', 'link', 'link', 'link'), target, content: fc.constantFrom('', 'pwned') } as const)
  .map(({ name: [home, remainder], type, target: steps, content }) => ({
    name: [home, ...remainder].join('/'),
    type,
    ...(type === 'link' ? { target: steps.join('/') } : {}),
    ...(type === 'file' ? { content } : {}),
  }));

/** The contents of a folder; links are not followed. */
function listing(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => {
      const place = path.join(entry.parentPath, entry.name);
      return `${place} ${entry.isFile() ? readFileSync(place, 'utf8') : lstatSync(place).mode}`;
    })
    .sort();
}

/** Expects that every restored link ends in its own sandbox when the kernel follows it. */
function expectConfined(data: string): void {
  const sandboxes = path.join(data, 'sandboxes');
  if (!existsSync(sandboxes)) return;
  for (const entry of readdirSync(sandboxes, { recursive: true, withFileTypes: true }).filter((candidate) => candidate.isSymbolicLink())) {
    const place = path.join(entry.parentPath, entry.name);
    // A link that leads nowhere, or in a loop, has no end.
    if (!existsSync(place)) continue;
    const home = path.join(sandboxes, path.relative(sandboxes, place).split(path.sep)[0] as string);
    expect(realpathSync(place).startsWith(`${home}${path.sep}`), `${place} -> ${realpathSync(place)}`).toBe(true);
  }
}

it('no archive changes anything outside the directory', async () => {
  const base = realpathSync(await temporaryDirectory());
  await mkdir(path.join(base, 'victim', 'd'), { recursive: true });
  await writeFile(path.join(base, 'victim', 'x'), 'mine');
  const data = path.join(base, 'data');
  const before = listing(base);
  const counts = { good: 0, refused: 0, links: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 12 }), async (parts) => {
      const bytes = archive([first, database, ...parts]);
      const outcome = (work: Promise<unknown>) => work.then(() => 'good').catch((error: Error) => error.message);
      const readOutcome = await outcome(readBackup(source(bytes), undefined, newReadProgress(), inertSignal));
      expect(listing(base)).toEqual(before);
      const restoreOutcome = await outcome(restoreBackup(source(bytes), data, newReadProgress(), inertSignal));
      expect(restoreOutcome).toBe(readOutcome);
      if (restoreOutcome === 'good') {
        expectConfined(data);
        counts.good += 1;
        counts.links += parts.filter(({ type }) => type === 'link').length;
      } else {
        expect(restoreOutcome).toMatch(/^The backup cannot be used/);
        counts.refused += 1;
      }
      await rm(data, { recursive: true, force: true });
      expect(listing(base)).toEqual(before);
    }),
    { numRuns: 400, seed: 20_261_122 },
  );
  // Each kind occurs often enough to be significant.
  expect(Math.min(counts.good, counts.refused, counts.links)).toBeGreaterThan(20);
});
