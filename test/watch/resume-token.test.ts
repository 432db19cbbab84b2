/** Resume tokens: every position survives, and anything else is rejected with a reason. */
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type RunPosition, runStart } from '../../src/watch/resume/run-position.ts';
import { decodeToken, encodeToken, runPoint } from '../../src/watch/resume/token.ts';

const run = '9ea3d55e-31eb-4b55-9996-b6788b5d4108';
const otherRun = '11111111-2222-4333-8444-555555555555';
const position: RunPosition = {
  ...runStart,
  offset: 57,
  lastMessageId: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
  status: 'running',
  stream: { eventId: '57.7c9e6679.running..', messages: 57 },
};
const tokenOf = (runs: Record<string, RunPosition>, seq = 60): string =>
  encodeToken({ stream: 'runs', seq, runs: new Map(Object.entries(runs)) });

const anyId = fc.oneof(fc.uuid(), fc.string());
const anyCount = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const anyTime = fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true }).map((date) => date.toISOString());
const anyPosition: fc.Arbitrary<RunPosition> = fc.record({
  offset: anyCount,
  lastMessageId: fc.option(anyId, { nil: undefined }),
  status: fc.option(fc.constantFrom('running', 'waiting', 'completed', 'postponed', '')),
  request: fc.option(
    fc.record(
      { id: anyId, title: fc.string({ unit: 'grapheme' }), created_at: anyTime, reminded_at: anyTime },
      { requiredKeys: ['id', 'title', 'created_at'] },
    ),
  ),
  lastUserMessageAt: fc.option(anyCount, { nil: undefined }),
  isFinished: fc.boolean(),
  stream: fc.option(fc.record({ eventId: fc.string(), messages: anyCount }), { nil: undefined }),
});

describe('a resume token', () => {
  it('contains the positions of any number of runs unchanged', () => {
    const anyRuns = fc.uniqueArray(fc.tuple(anyId, anyPosition), { selector: ([id]) => id, maxLength: 20 });
    fc.assert(
      fc.property(anyRuns, anyCount, (runs, seq) => {
        const point = { stream: 'runs' as const, seq, runs: new Map(runs) };
        const token = encodeToken(point);
        expect(token).toMatch(/^r1[\w-]+$/);
        expect(decodeToken(token)).toEqual(point);
      }),
    );
  });

  it('is short', () => {
    expect(tokenOf({ [run]: position }).length).toBeLessThan(100);
    const manyRuns = Array.from({ length: 1_000 }, (_, index) => [
      `${run.slice(0, -4)}${1_000 + index}`,
      { ...position, stream: undefined },
    ]);
    expect(tokenOf(Object.fromEntries(manyRuns)).length).toBeLessThan(52_000);
  });

  it('is accepted with white space around it, as a file or a variable can contain it', () => {
    expect(runPoint(` ${tokenOf({ [run]: position })}\n`, run)).toEqual({ seq: 60, position });
  });

  it('is rejected if any character is missing or different', () => {
    const token = tokenOf({ [run]: position });
    const invalid = { code: 'resume_token_invalid', exit: 2, message: 'This is not a resume token, or a part of it is missing.' };
    for (let index = 0; index < token.length - 1; index += 1) {
      const changed = `${token.slice(0, index)}${token[index] === 'A' ? 'B' : 'A'}${token.slice(index + 1)}`;
      for (const text of [token.slice(0, index), token.slice(index + 1), changed])
        expect(() => decodeToken(text), text).toThrow(expect.objectContaining(invalid));
    }
    for (const text of ['', 'r1', 'auto', `${token}=`, `${token} ${token}`, run])
      expect(() => decodeToken(text), text).toThrow(expect.objectContaining(invalid));
  });

  it('is rejected if its content makes no sense, although its checksum is right', () => {
    const sealed = (content: Uint8Array): string => {
      const checksum = Buffer.alloc(4);
      checksum.writeUInt32BE(crc32(content));
      return `r1${Buffer.concat([content, checksum]).toString('base64url')}`;
    };
    const valid = Buffer.from(tokenOf({ [run]: position }).slice(2), 'base64url').subarray(0, -4);
    expect(decodeToken(sealed(valid))).toMatchObject({ stream: 'runs', seq: 60 });
    const invalid = expect.objectContaining({ code: 'resume_token_invalid', exit: 2 });
    expect(() => decodeToken(sealed(Buffer.from([9, ...valid.subarray(1)])))).toThrow(invalid);
    expect(() => decodeToken(sealed(Buffer.concat([valid, Buffer.from([0])])))).toThrow(invalid);
    for (let length = 0; length < valid.length; length += 1) expect(() => decodeToken(sealed(valid.subarray(0, length)))).toThrow(invalid);
    // The number 99 stands for no status, and the year 250,000,000 is not in the calendar.
    const [unknownStatus, distantTime] = [[99], [0, ...Buffer.alloc(16), 0, 255, 255, 255, 255, 255, 255, 255, 15]];
    expect(() => decodeToken(sealed(Buffer.from([1, 1, 1, 3, 114, 49, 2, 0, ...unknownStatus])))).toThrow(invalid);
    expect(() => decodeToken(sealed(Buffer.from([1, 1, 1, 3, 114, 49, 4, 0, ...distantTime])))).toThrow(invalid);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (tail) => {
        try {
          decodeToken(sealed(Buffer.from([1, 1, 1, ...tail])));
        } catch (error) {
          expect(error).toMatchObject({ code: 'resume_token_invalid' });
        }
      }),
    );
  });

  it('of a newer version is rejected with the advice to update', () => {
    const newer = `r2${tokenOf({ [run]: position }).slice(2)}`;
    expect(() => decodeToken(newer)).toThrow(
      expect.objectContaining({ code: 'resume_token_invalid', message: 'The resume token was created by a newer version of aops.' }),
    );
  });

  it('is rejected for another run, with the run to which it belongs', () => {
    expect(() => runPoint(tokenOf({ [run]: position }), otherRun)).toThrow(
      expect.objectContaining({
        code: 'resume_token_foreign',
        exit: 2,
        message: `The resume token belongs to run ${run}, not to run ${otherRun}.`,
      }),
    );
    expect(() => runPoint(tokenOf({ [run]: position, [otherRun]: position }), run)).toThrow(
      expect.objectContaining({ message: `The resume token belongs to a stream of 2 runs, not to run ${run}.` }),
    );
  });
});
