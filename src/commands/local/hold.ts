/** Holding a data directory still while it is copied: by the service that runs on it, or with the lock where none does. */
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

/** How long to look for the service that has the lock; it says where it is a moment after it has taken it. */
const lookFor = 5_000;
const lookMilliseconds = 50;
/** Milliseconds that a hold lasts unless it is prolonged. */
const lease = 30_000;
const prolongEvery = 8_000;

export interface Held extends HeldDirectory {
  /** Whether a service runs there. */
  readonly running: boolean;
  /** Aborted when it is not held any more. */
  readonly lost: AbortSignal;
  /** Whether runs did not go on before their files were copied. */
  runsWaited(): boolean;
}

/** @throws AopsError `no_data`, `backup_running`, `data_directory_in_use` when whoever has it does not answer */
export async function holdDirectory(context: Context, dataDirectory: string): Promise<Held> {
  const { holdStopped } = await import('../../service/backup/index.ts');
  const deadline = context.clock.now() + lookFor;
  for (;;) {
    const state = await owningService(dataDirectory);
    if (state !== undefined) return holdRunning(context, state, dataDirectory);
    try {
      const held = await holdStopped(dataDirectory, context.clock.now());
      return { ...held, running: false, lost: new AbortController().signal, runsWaited: () => true };
    } catch (error) {
      const isInUse = error instanceof AopsError && error.code === 'data_directory_in_use';
      if (!isInUse || context.clock.now() > deadline) throw error;
    }
    await context.clock.sleep(lookMilliseconds, context.signal);
  }
}

async function holdRunning(context: Context, state: LocalState, dataDirectory: string): Promise<Held> {
  // It has to be told of the end after Ctrl-C as well: runs and removals wait for it.
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

/** What a running service holds still for this command, which prolongs it until it is released. */
export class RunningHold implements Held {
  readonly path: string;
  readonly createdAt: string;
  readonly running = true;
  readonly #context: Pick<Context, 'clock' | 'signal'>;
  readonly #client: Pick<Client, 'call' | 'close'>;
  readonly #lost = new AbortController();
  readonly #done = new AbortController();
  #hold: BackupHold;
  /** When the service was last told to go on holding. */
  #prolonged: number;

  constructor(context: Pick<Context, 'clock' | 'signal'>, client: Pick<Client, 'call' | 'close'>, dataDirectory: string, hold: BackupHold) {
    this.path = dataDirectory;
    this.createdAt = hold.created_at;
    this.#context = context;
    this.#client = client;
    this.#hold = hold;
    this.#prolonged = steadyTime(context.clock);
    void this.#prolong();
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  runsWaited = (): boolean => this.#hold.runs_waited;

  /** From another process than the service's: closing the file would give up its lock there. */
  async copyDatabase(to: string): Promise<void> {
    await copyFile(path.join(this.path, 'aops.db'), to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    await chmod(to, 0o600);
    // It is good when the file was still held at the end.
    await this.#goOn('everything');
  }

  keepFilesAlone(): Promise<void> {
    return this.#goOn('files');
  }

  /** It ends by itself where the service cannot be told. */
  async release(): Promise<void> {
    this.#done.abort();
    const params = { hold_id: this.#hold.id };
    const signal = AbortSignal.timeout(2_000);
    await this.#client.call('deleteBackupHold', { params }, { confidential: true, signal }).catch(() => undefined);
    await this.#client.close();
  }

  async #goOn(holds: BackupHold['holds']): Promise<void> {
    try {
      const { hold } = await this.#client.call(
        'updateBackupHold',
        { params: { hold_id: this.#hold.id }, body: { holds } },
        { confidential: true, signal: anySignal([this.#context.signal, this.#done.signal]) },
      );
      this.#hold = hold;
      this.#prolonged = steadyTime(this.#context.clock);
    } catch (error) {
      this.#context.signal.throwIfAborted();
      throw holdLost(error, steadyTime(this.#context.clock) - this.#prolonged);
    }
  }

  async #prolong(): Promise<void> {
    try {
      for (;;) {
        await this.#context.clock.sleep(prolongEvery, this.#done.signal);
        await this.#goOn(this.#hold.holds);
      }
    } catch (error) {
      if (!this.#done.signal.aborted) this.#lost.abort(error);
    }
  }
}

/** Why the service holds its data no longer. @param silent milliseconds since it was last told to go on */
function holdLost(cause: unknown, silent: number): AopsError {
  const isGone = cause instanceof ServiceAnswerError && cause.status === 404;
  const [why, hint] = !isGone
    ? ['the service could not be reached any more', 'See whether it was stopped, with `aops local status`, and run the command again.']
    : silent > lease
      ? [
          `this command was held up for ${Math.round(silent / 1_000)} seconds, and the service waits for ${lease / 1_000}`,
          'Run the command again, when the machine has less to do.',
        ]
      : ['the service was restarted', 'Run the command again.'];
  return new AopsError(`There is no backup: ${why} before everything was copied.`, {
    code: 'backup_hold_lost',
    exit: exitCodes.unavailable,
    hint,
    cause,
  });
}
