/** The statuses in a log: they do not depend on when the watch happened to poll. */
import { expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { Transcript } from '../../src/cli/records/transcript.ts';
import { TranscriptSink } from '../../src/commands/runs/sinks.ts';
import { plainStyles } from '../../src/terminal/style.ts';
import type { RunEvent } from '../../src/watch/events.ts';

it('tells that a run waits for its turn at the beginning, and not after each answer', async () => {
  const lines: string[] = [];
  const write = async (line: string): Promise<void> => void lines.push(line);
  const sink = new TranscriptSink(write, new Transcript(plainStyles, 80), plainStyles, systemClock, undefined, false);
  for (const status of ['pending', 'starting', 'running', 'waiting', 'pending', 'running', 'waiting', 'pending', 'completed'])
    await sink.event({ v: 1, seq: 1, type: 'run.status', run_id: 'x', ts: '', data: { status } } as RunEvent);
  sink.close();
  expect(lines).toEqual(['[pending]']);
});
