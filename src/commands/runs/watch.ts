import { exitCodes } from '../../base/errors.ts';
import { readBeforeWatching } from '../../cli/following/outage.ts';
import { followFlags, followOptions } from '../../cli/following/responder.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { returns } from '../../cli/kit/result.ts';
import { resolveRun } from '../../cli/names/resolve-run.ts';
import { runArgument, runForHere } from '../../cli/names/run-names.ts';
import { Notifier, notifyFlags } from '../../cli/notifying/notifier.ts';
import { announce, failedAfter, printsRun, readEvents, resultOf } from './follow.ts';
import { noMatchError, openReading, readingFlags } from './reading.ts';

export default defineCommand({
  summary: 'Watch a run and answer its human requests',
  description:
    'Streams the messages of the run until it ends. Human requests are prompted for below the transcript; without a terminal, --answers and --on-request decide. Ctrl-C detaches; the run continues. The exit code is the outcome of the run, even if it ended earlier.',
  arguments: { run: runArgument },
  options: { ...followFlags, ...readingFlags, ...notifyFlags },
  operations: ['getRun', 'streamRunEvents', 'listRunMessages', 'respondToHumanRequest'],
  exits: [exitCodes.conflict, exitCodes.runFailed, exitCodes.runInterrupted, exitCodes.runWaiting],
  examples: [
    { command: 'aops runs watch @latest', text: 'Watch the newest run and answer its requests' },
    { command: 'aops runs watch RUN --on-request wait --timeout 1h', text: 'Watch a run while someone else answers' },
    { command: 'aops runs watch RUN --notify', text: 'Be notified when the run needs an answer or ends' },
    { command: 'aops runs watch RUN -o ndjson', text: 'Print every event as one JSON object per line' },
    {
      command: 'aops runs watch RUN -o ndjson --resume @events.ndjson >> events.ndjson',
      text: 'Add the events that are not in a file yet',
    },
    { command: "aops runs watch RUN --tail 10 --until 'Deployed * to production'", text: 'Wait for a message' },
  ],
  result: returns('getRun.run'),
  async run(context, input) {
    const options = await followOptions(context, input);
    const resolvedRun = await readBeforeWatching(context, (reading) => resolveRun(reading, input.run));
    if (resolvedRun.listItem) announce(context, resolvedRun);
    const reading = await openReading(context, resolvedRun.id, input);
    try {
      const { run, isMatched } = await readEvents(context, resolvedRun, options, reading, new Notifier(context, input));
      if (isMatched) return printsRun(context) ? run : undefined;
      const result = resultOf(context, run);
      if (reading.until.length > 0) throw failedAfter(context, run, noMatchError(runForHere(context, run)));
      return result;
    } finally {
      reading.positions?.close();
    }
  },
});
