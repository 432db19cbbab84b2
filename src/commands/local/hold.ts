/** Holds a data directory while it is copied: through the service that uses it, or with the lock if none does. */
import { chmod, constants, copyFile } from 'node:fs/promises';
import path from 'node:path';
import { anySignal } from '../../base/abort.ts';
import { steadyTime } from '../../base/clock.ts';
import { AopsError, exitCodes } from '../../base/errors.ts';
import { type LocalState, owningService } from '../../cli/connect/local-state.ts';
import type { Context } from '../../cli/kit/context.ts';
import type { Client } from '../../client/client.ts';
import { ServiceAnswerError } from '../../client/errors.ts';
import type { BackupHold } from '../../interface/types.ts';
import type { HeldDirectory } from '../../service/backup/index.ts';
import { ownerClient } from './owner.ts';

/** How long to look for the service that has the lock: it writes its state shortly after taking the lock. */
const ownerMilliseconds = 5_000;
const pollMilliseconds = 50;
/** How long a hold lasts unless it is renewed; milliseconds. */
const lease = 30_000;
const renewEvery = 8_000;

export interface HeldDataDirectory extends HeldDirectory {
  /** Whether a service is using the directory. */
  readonly running: boolean;
  /** Aborted when the hold is lost. */
  readonly lossSignal: AbortSignal;
  /** Whether runs waited until their files were copied. */
  runsWaited(): boolean;
}

/** @throws AopsError `no_data`, `backup_running`, `data_directory_in_use` when its owner does not respond */
export async function holdDirectory(context: Context, dataDirectory: string): Promise<HeldDataDirectory> {
  const { holdStopped } = await import('../../service/backup/index.ts');
  const deadline = context.clock.now() + ownerMilliseconds;
  for (;;) {
    const state = await owningService(dataDirectory);
    if (state !== undefined) return holdRunning(context, state, dataDirectory);
    try {
      const held = await holdStopped(dataDirectory, context.clock.now());
      return { ...held, running: false, lossSignal: new AbortController().signal, runsWaited: () => true };
    } catch (error) {
      const isInUse = error instanceof AopsError && error.code === 'data_directory_in_use';
      if (!isInUse || context.clock.now() > deadline) throw error;
    }
    await context.clock.sleep(pollMilliseconds, context.signal);
  }
}

async function holdRunning(context: Context, state: LocalState, dataDirectory: string): Promise<HeldDataDirectory> {
  // The hold must be released even after Ctrl-C, because runs and removals wait for it.
  const lasting = { ...context, signal: new AbortController().signal };
  const client = await ownerClient(lasting, { ...state, data_dir: dataDirectory });
  try {
    const { hold } = await client.call('createBackupHold', {}, { confidential: true, signal: context.signal });
    return new RunningHold(context, client, dataDirectory, hold);
  } catch (error) {
    await client.close();
    throw error;
  }
}

/** A hold of a running service, which this command renews until it is released. */
export class RunningHold implements HeldDataDirectory {
  readonly path: string;
  readonly createdAt: string;
  readonly running = true;
  readonly #context: Pick<Context, 'clock' | 'signal'>;
  readonly #client: Pick<Client, 'call' | 'close'>;
  readonly #lossController = new AbortController();
  readonly #releaseController = new AbortController();
  #hold: BackupHold;
  /** When the hold was last renewed. */
  #renewedAt: number;

  constructor(context: Pick<Context, 'clock' | 'signal'>, client: Pick<Client, 'call' | 'close'>, dataDirectory: string, hold: BackupHold) {
    this.path = dataDirectory;
    this.createdAt = hold.created_at;
    this.#context = context;
    this.#client = client;
    this.#hold = hold;
    this.#renewedAt = steadyTime(context.clock);
    void this.#prolong();
  }

  get lossSignal(): AbortSignal {
    return this.#lossController.signal;
  }

  runsWaited = (): boolean => this.#hold.runs_waited;

  /** Must not run in the process of the service, where closing the file would release its lock. */
  async copyDatabase(to: string): Promise<void> {
    await copyFile(path.join(this.path, 'aops.db'), to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    await chmod(to, 0o600);
    // The copy is valid if the file was still held at the end.
    await this.#renew('everything');
  }

  keepFilesAlone(): Promise<void> {
    return this.#renew('files');
  }

  /** If the service cannot be reached, the hold expires by itself. */
  async release(): Promise<void> {
    this.#releaseController.abort();
    const params = { hold_id: this.#hold.id };
    const signal = AbortSignal.timeout(2_000);
    await this.#client.call('deleteBackupHold', { params }, { confidential: true, signal }).catch(() => undefined);
    await this.#client.close();
  }

  async #renew(holds: BackupHold['holds']): Promise<void> {
    try {
      const { hold } = await this.#client.call(
        'updateBackupHold',
        { params: { hold_id: this.#hold.id }, body: { holds } },
        { confidential: true, signal: anySignal([this.#context.signal, this.#releaseController.signal]) },
      );
      this.#hold = hold;
      this.#renewedAt = steadyTime(this.#context.clock);
    } catch (error) {
      this.#context.signal.throwIfAborted();
      throw holdLost(error, steadyTime(this.#context.clock) - this.#renewedAt);
    }
  }

  async #prolong(): Promise<void> {
    try {
      for (;;) {
        await this.#context.clock.sleep(renewEvery, this.#releaseController.signal);
        await this.#renew(this.#hold.holds);
      }
    } catch (error) {
      if (!this.#releaseController.signal.aborted) this.#lossController.abort(error);
    }
  }
}

/** The error for a lost hold. @param silentMilliseconds milliseconds since the hold was last renewed */
function holdLost(cause: unknown, silentMilliseconds: number): AopsError {
  const isGone = cause instanceof ServiceAnswerError && cause.status === 404;
  const [reason, hint] = !isGone
    ? ['the service could no longer be reached', 'Check with `aops local status` whether it was stopped, and run the command again.']
    : silentMilliseconds > lease
      ? [
          `this command was delayed for ${Math.round(silentMilliseconds / 1_000)} seconds, but the service waits only ${lease / 1_000}`,
          'Run the command again when the machine is less busy.',
        ]
      : ['the service was restarted', 'Run the command again.'];
  return new AopsError(`The backup was not completed: ${reason} before everything was copied.`, {
    code: 'backup_hold_lost',
    exit: exitCodes.unavailable,
    hint,
    cause,
  });
}
