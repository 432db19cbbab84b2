/** What people see of a builder run while it works: its phase. */
import type { BuilderRunEvent } from '../../watch/watch-builder-run.ts';
import type { Context } from '../context.ts';
import { newStreamSink, type StreamSink } from '../following/stream-sinks.ts';

export type BuilderSink = StreamSink<BuilderRunEvent>;

export const newSink = (context: Context): Promise<BuilderSink> =>
  newStreamSink<BuilderRunEvent>(context, (event) => (event.type === 'builder_run.phase' ? { phase: event.data.phase } : undefined));
