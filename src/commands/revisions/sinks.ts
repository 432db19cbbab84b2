/** Displays the phase of a builder run while it is running. */

import type { Resumption } from '../../cli/following/resumption.ts';
import { newStreamSink, type StreamSink } from '../../cli/following/stream-sinks.ts';
import type { Context } from '../../cli/kit/context.ts';
import type { BuilderRunEvent } from '../../watch/watch-builder-run.ts';

export type BuilderSink = StreamSink<BuilderRunEvent>;

export const newSink = (context: Context, resumption: Omit<Resumption<unknown>, 'point'>): Promise<BuilderSink> =>
  newStreamSink<BuilderRunEvent>(
    context,
    (event) => (event.type === 'builder_run.phase' ? { phase: event.data.phase } : undefined),
    resumption,
  );
