/** The statuses that a log contains do not depend on the times of the polls. */
import { expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { Transcript } from '../../src/cli/records/transcript.ts';
import { TranscriptSink } from '../../src/commands/runs/sinks.ts';
import { plainStyles } from '../../src/terminal/style.ts';
import type { RunEvent } from '../../src/watch/events.ts';

it('reports that a run is queued at the beginning, but not after each answer', async () => {
  const lines: string[] = [];
  const write = async (line: string): Promise<void> => void lines.push(line);
  const sink = new TranscriptSink(write, new Transcript(plainStyles, 80), plainStyles, systemClock, undefined, false);
  for (const status of ['pending', 'starting', 'running', 'waiting', 'pending', 'running', 'waiting', 'pending', 'completed'])
    await sink.event({ v: 1, seq: 1, type: 'run.status', run_id: 'x', ts: '', data: { status } } as RunEvent);
  sink.close();
  expect(lines).toEqual(['[pending]']);
});
