/** Displays the status and the requests of the run while `runs wait` is waiting. Displays nothing without a terminal. */

import { waitingTime } from '../../cli/following/waiting-time.ts';
import type { Context } from '../../cli/kit/context.ts';
import { type NamedRun, runForHere, runTitle, runWord } from '../../cli/names/run-names.ts';
import { Transcript } from '../../cli/records/transcript.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';
import type { RunEvent } from '../../watch/events.ts';
import { TranscriptSink } from './sinks.ts';

export interface WaitingView {
  event(event: RunEvent): Promise<void>;
  /** Prints how to come back after an interruption. */
  detach(): void;
  close(): void;
}

const noView: WaitingView = { event: async () => undefined, detach: () => undefined, close: () => undefined };

/** @param answers whether a request ends the wait, so that it is not announced here */
export async function waitingView(context: Context, run: NamedRun, answers: boolean): Promise<WaitingView> {
  const { terminal, clock } = context;
  if (!terminal.animated) return noView;
  const { statusLine } = await import('../../terminal/progress.ts');
  const styles = await terminal.err.styles();
  const requestedRun = runForHere(context, run);
  let needsAnswer = false;
  // Only the status line is displayed, not the lines of the transcript.
  const write = async (): Promise<void> => undefined;
  const sink = new TranscriptSink(write, new Transcript(styles, terminal.err.columns), styles, clock, await statusLine(terminal), true);
  return {
    async event(event) {
      await sink.event(event);
      if (event.type === 'human_request.resolved') needsAnswer = false;
      if (event.type === 'human_request.reminder') {
        const { human_request: request } = event.data;
        terminal.note(
          `Reminder: run ${runTitle(requestedRun)} has been ${waitingTime(request, clock.now())}: ${sanitizeLine(request.title)}`,
        );
      }
      if (event.type !== 'human_request.pending' || answers) return;
      needsAnswer = true;
      terminal.note(`Run ${runTitle(requestedRun)} needs an answer: ${sanitizeLine(event.data.human_request.title)}`);
      terminal.advise(`Answer it elsewhere with: aops runs respond ${runWord(requestedRun)}`);
    },
    detach() {
      sink.close();
      const state = needsAnswer ? 'The run needs an answer' : 'The run continues';
      terminal.advise(`Stopped waiting. ${state}. Come back with: aops runs ${needsAnswer ? 'watch' : 'wait'} ${runWord(requestedRun)}`);
    },
    close: () => sink.close(),
  };
}
