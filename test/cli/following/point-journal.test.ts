/** The tokens of positions that are stored in a journal: each stands for exactly the position after its event. */
import { appendFileSync, chmodSync, readdirSync, rmSync, truncateSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { PointJournal, wholeToken, withChange } from '../../../src/cli/following/point-journal.ts';
import { StreamTokens } from '../../../src/cli/following/stream-tokens.ts';
import type { Context } from '../../../src/cli/kit/context.ts';
import type { InboxPoint, RunsPoint } from '../../../src/watch/resume/points.ts';
import { runStart } from '../../../src/watch/resume/run-position.ts';
import { decodeToken } from '../../../src/watch/resume/token.ts';
import { openFilesIn } from '../../support/open-files.ts';
import { asOrdinaryUser } from '../../support/ordinary-user.ts';
import { randomFrom } from '../../support/random.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const newContext = async () => {
  const context = { time: 0, paths: { data: await temporaryFolder() } };
  const clock = { now: () => context.time, sleep: async () => undefined };
  return Object.assign(context, { clock }) as unknown as Context & { time: number };
};
const runPoint = (seq: number, runs: RunsPoint['runs']): RunsPoint => ({ stream: 'runs', seq, runs });
const at = (offset: number) => ({ ...runStart, offset });
const expired = expect.objectContaining({ code: 'resume_token_expired', exit: 2 });

describe('the tokens of a stream with many parts', () => {
  it('each stand for the position after their event, whether they contain it or refer to it', async () => {
    const context = await newContext();
    const tokens = new StreamTokens(context);
    const random = randomFrom(1);
    const runs = new Map(Array.from({ length: 40 }, (_, index) => [`run ${index}`, at(0)]));
    const events: { token: string; point: RunsPoint }[] = [];
    for (let seq = 1; seq <= 500; seq += 1) {
      // The stream becomes one of many runs on the way.
      const id = `run ${Math.floor(random() * Math.min(200, 40 + seq))}`;
      runs.set(id, at(seq));
      context.time += random() * 100;
      const whole = () => runPoint(seq, new Map(runs));
      const token = tokens.after(runs.size, whole, () => runPoint(seq, new Map([[id, at(seq)]])));
      events.push({ token, point: whole() });
    }
    tokens.close();
    for (const { token, point } of events) expect(decodeToken(wholeToken(context, token))).toEqual(point);
    const largeEvents = events.slice(100);
    const short = largeEvents.filter(({ token }) => token.length < 50).length;
    expect(short).toBeGreaterThan(largeEvents.length * 0.9);
    // About one in a second can be used on any machine.
    expect(largeEvents.length - short).toBeGreaterThan(15);
  });

  it('cannot be stored in a folder of somebody else, and say which variable determines the folder', async () => {
    const context = await newContext();
    chmodSync(context.paths.data, 0o500);
    const begin = async () => new PointJournal(context).begin(runPoint(1, new Map()));
    await expect(asOrdinaryUser(context.paths.data, begin)).rejects.toMatchObject({
      code: 'not_writable',
      hint: 'Check the permissions of its folder, or set AOPS_DATA_DIR to another one.',
    });
    chmodSync(context.paths.data, 0o700);
  });

  it('stay right if the position has few parts for a while', async () => {
    const context = await newContext();
    const tokens = new StreamTokens(context);
    const runs = new Map(Array.from({ length: 51 }, (_, index) => [`run ${index}`, at(0)]));
    // The one after the first is short, because not even a second has passed.
    for (const [seq, parts] of [51, 50, 50, 51].entries()) {
      runs.set('run 0', at(seq));
      const point = runPoint(seq, new Map([...runs].slice(0, parts)));
      const token = tokens.after(
        parts,
        () => point,
        () => runPoint(seq, new Map([['run 0', at(seq)]])),
      );
      expect((decodeToken(wholeToken(context, token)) as RunsPoint).runs.get('run 0')).toEqual(at(seq));
      expect(token.length < 60, String(seq)).toBe(seq > 0);
    }
    tokens.close();
  });

  it('refer to requests that are no longer pending, too', async () => {
    const context = await newContext();
    const journal = new PointJournal(context);
    const request = { runId: 'r1', title: 'Pay?', remindedAt: undefined };
    const base: InboxPoint = {
      stream: 'inbox',
      seq: 1,
      scope: 's',
      pending: new Map([['q1', request]]),
    };
    journal.begin(base);
    const change = { ...base, seq: 2, pending: new Map([['q1', { ...request, runId: '' }]]) };
    const token = journal.add(change, () => base);
    journal.close();
    expect(decodeToken(wholeToken(context, token))).toEqual({ ...change, pending: new Map() });
  });
});

describe('a journal', () => {
  const add = (journal: PointJournal, seq: number): string =>
    journal.add(runPoint(seq, new Map([['a', at(seq)]])), () => runPoint(seq, new Map([['a', at(seq)]])));

  /** A token of a journal that is closed, and the file of the journal. */
  const stored = async () => {
    const context = await newContext();
    const journal = new PointJournal(context);
    const token = add(journal, 1);
    journal.close();
    const folder = path.join(context.paths.data, 'positions');
    return { context, token, file: path.join(folder, readdirSync(folder)[0] ?? '') };
  };

  it('begins another file when it has become large, and keeps the one before', async () => {
    const context = await newContext();
    const journal = new PointJournal(context, 500);
    const tokens = Array.from({ length: 100 }, (_, index) => add(journal, index + 1));
    journal.close();
    const isKept = tokens.map((token, index) => {
      try {
        return (decodeToken(wholeToken(context, token)) as RunsPoint).runs.get('a')?.offset === index + 1;
      } catch (error) {
        expect(error).toEqual(expired);
        return false;
      }
    });
    expect(isKept.lastIndexOf(false)).toBe(isKept.indexOf(true) - 1);
    expect(isKept.filter(Boolean).length).toBeGreaterThan(12);
    expect(readdirSync(path.join(context.paths.data, 'positions'))).toHaveLength(2);
  });

  it('can be read although the last line is incomplete', async () => {
    const context = await newContext();
    const journal = new PointJournal(context);
    const token = add(journal, 1);
    const [file = ''] = readdirSync(path.join(context.paths.data, 'positions'));
    appendFileSync(path.join(context.paths.data, 'positions', file), 'r1AQ');
    journal.close();
    expect(decodeToken(wholeToken(context, token))).toEqual(runPoint(1, new Map([['a', at(1)]])));
  });

  it('keeps at most one open file', async () => {
    const context = await newContext();
    const journal = new PointJournal(context, 50);
    for (let seq = 1; seq <= 20; seq += 1) add(journal, seq);
    expect(await openFilesIn(context.paths.data)).toHaveLength(1);
    journal.close();
    expect(await openFilesIn(context.paths.data)).toEqual([]);
  });

  it('that is empty has no positions', async () => {
    const { context, token, file } = await stored();
    truncateSync(file);
    expect(() => wholeToken(context, token)).toThrow(expired);
  });

  it('that cannot be read is an error, which names the file', async () => {
    const { context, token, file } = await stored();
    chmodSync(file, 0o000);
    const read = async () => wholeToken(context, token);
    await expect(asOrdinaryUser(context.paths.data, read)).rejects.toMatchObject({ message: expect.stringContaining(file) });
  });

  it('contains the positions of one stream', () => {
    const inbox: InboxPoint = { stream: 'inbox', seq: 2, scope: 's', pending: new Map() };
    const runs = runPoint(1, new Map());
    for (const [point, change] of [
      [inbox, runs],
      [runs, inbox],
    ] as const)
      expect(() => withChange(point, change)).toThrow('The position is of another stream.');
  });

  it('is removed when it is old, and another one is begun', async () => {
    const context = await newContext();
    const old = new PointJournal(context);
    add(old, 1);
    old.close();
    const folder = path.join(context.paths.data, 'positions');
    const [file = ''] = readdirSync(folder);
    utimesSync(path.join(folder, file), 0, 0);
    context.time = 8 * 86_400_000;
    const tokens = new StreamTokens(context);
    const point = runPoint(1, new Map());
    tokens.after(
      51,
      () => point,
      () => point,
    );
    await expect.poll(() => readdirSync(folder)).not.toContain(file);
    tokens.close();
    expect(readdirSync(folder)).toHaveLength(1);
  });

  it('is needed for its tokens', async () => {
    const context = await newContext();
    const journal = new PointJournal(context);
    const token = add(journal, 1);
    journal.close();
    rmSync(path.join(context.paths.data, 'positions'), { recursive: true });
    expect(() => wholeToken(context, token)).toThrow(expired);
  });
});
