/** What is reported of an outage of the service while something is watched. */
import { expect, it } from 'vitest';
import { outageNotes } from '../../../src/cli/following/outage.ts';
import { fakeTerminal } from '../../terminal/fake-streams.ts';

function notes({ format = 'table', quiet = false, profile }: { format?: string; quiet?: boolean; profile?: string } = {}) {
  const fake = fakeTerminal({ quiet });
  let now = 1_000;
  const report = outageNotes({ terminal: fake.terminal, clock: { now: () => now } as never, format: format as never }, profile);
  const isShown = report({ since: 1_000, reason: 'It is down.' });
  now += 65_000;
  const isShownAtEnd = report(undefined);
  return { isShown, isShownAtEnd, lines: fake.stderr().trimEnd().split('\n') };
}

it('is its reason, and that it is over, which the end of the command does not repeat', () => {
  expect(notes()).toEqual({
    isShown: true,
    isShownAtEnd: false,
    lines: [
      'It is down.',
      expect.stringMatching(/^The service has not answered since \d\d:\d\d:01\. Retrying for up to .*\.$/),
      'The service is reachable again after 1m 5s.',
    ],
  });
  expect(notes({ profile: 'two' }).lines[0]).toBe('Profile "two": It is down.');
});

it('is not on the screen with --quiet, nor in the last line for a program, so the error contains the reason', () => {
  expect(notes({ quiet: true })).toEqual({ isShown: false, isShownAtEnd: false, lines: [''] });
  for (const format of ['json', 'ndjson']) {
    const { isShown, lines } = notes({ format, profile: 'two' });
    expect(isShown).toBe(false);
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { event: 'service.unreachable', since: '1970-01-01T00:00:01.000Z', reason: 'It is down.', profile: 'two' },
      { event: 'service.reachable', after_seconds: 65, profile: 'two' },
    ]);
  }
});
