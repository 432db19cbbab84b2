/** What a person at a terminal sees while `runs wait` waits: where the run is, and what it needs. Off a terminal there is nothing. */

import type { Context } from '../../cli/kit/context.ts';
import { type NamedRun, runForHere, runTitle, runWord } from '../../cli/names/run-names.ts';
import { Transcript } from '../../cli/records/transcript.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';
import type { RunEvent } from '../../watch/events.ts';
import { TranscriptSink } from './sinks.ts';

export interface WaitingView {
  event(event: RunEvent): Promise<void>;
  /** Says how to come back to a run that was left. */
  left(): void;
  close(): void;
}

const nothing: WaitingView = { event: async () => undefined, left: () => undefined, close: () => undefined };

/** @param answers whether a request ends the wait, so that nothing has to be said of it */
export async function waitingView(context: Context, run: NamedRun, answers: boolean): Promise<WaitingView> {
  const { terminal, clock } = context;
  if (!terminal.animated) return nothing;
  const { statusLine } = await import('../../terminal/progress.ts');
  const styles = await terminal.err.styles();
  const named = runForHere(context, run);
  let needed = false;
  // The lines of the transcript are not wanted here, only what the status line makes of them.
  const write = async (): Promise<void> => undefined;
  const sink = new TranscriptSink(write, new Transcript(styles, terminal.err.columns), styles, clock, await statusLine(terminal), true);
  return {
    async event(event) {
      await sink.event(event);
      if (event.type === 'human_request.resolved') needed = false;
      if (event.type !== 'human_request.pending' || answers) return;
      needed = true;
      terminal.note(`Run ${runTitle(named)} needs an answer: ${sanitizeLine(event.data.human_request.title)}`);
      terminal.note(`Answer it elsewhere with: aops runs respond ${runWord(named)}`);
    },
    left() {
      sink.close();
      const state = needed ? 'it needs an answer' : 'the run goes on';
      terminal.note(`Stopped waiting; ${state}. Come back with: aops runs ${needed ? 'watch' : 'wait'} ${runWord(named)}`);
    },
    close: () => sink.close(),
  };
}
