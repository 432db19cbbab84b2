/**
 * A client whose requests survive the first Ctrl-C or SIGTERM for a moment: bulk work then starts nothing new and waits for the
 * requests in progress, so that their outcomes are recorded.
 */
import { AopsError, exitCodes } from '../../base/errors.ts';
import type { Client } from '../../client/client.ts';
import type { Context } from '../kit/context.ts';

/** How long requests in progress may take after the command was interrupted, in milliseconds. */
const graceMilliseconds = 10_000;

export interface GracefulClient {
  /** The context whose signal ends the requests. */
  context: Context;
  client: Client;
  close(): Promise<void>;
}

/** Loaded only when it is needed. */
const connectClient = async (context: Context): Promise<Client> => (await import('../connect/connection.ts')).connect(context);

/**
 * @param onInterrupt called when the command was interrupted and requests may still be in progress
 * @param connect creates the client of a context
 */
export async function gracefulClient(context: Context, onInterrupt: () => void, connect = connectClient): Promise<GracefulClient> {
  const controller = new AbortController();
  const endController = new AbortController();
  const onAbort = (): void => {
    const { reason } = context.signal;
    const isInterrupt = reason instanceof AopsError && (reason.exit === exitCodes.interrupted || reason.exit === exitCodes.terminated);
    if (!isInterrupt) {
      controller.abort(reason);
      return;
    }
    onInterrupt();
    context.clock.sleep(graceMilliseconds, endController.signal).then(
      () => controller.abort(reason),
      () => undefined,
    );
  };
  if (context.signal.aborted) onAbort();
  else context.signal.addEventListener('abort', onAbort);
  const ownContext: Context = { ...context, signal: controller.signal };
  const client = await connect(ownContext);
  ownContext.client = async () => client;
  return {
    context: ownContext,
    client,
    async close() {
      context.signal.removeEventListener('abort', onAbort);
      endController.abort();
      await client.close();
    },
  };
}
