/** Writes the backup of a held data directory to a file or to stdout. */
import { tmpdir } from 'node:os';
import path from 'node:path';
import { anySignal } from '../../base/abort.ts';
import { pluralize } from '../../base/pluralize.ts';
import { writeFailure } from '../../base/write-failure.ts';
import type { Context } from '../../cli/kit/context.ts';
import { saveContent } from '../../cli/kit/files.ts';
import type { BackupInfo, Problem } from '../../service/backup/index.ts';
import { startSpinner } from '../../terminal/progress.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';
import { formatSize } from '../../terminal/size.ts';
import type { BackupRecord } from './backup-record.ts';
import type { HeldDataDirectory } from './hold.ts';
import { makeWorkFolder } from './work-folder.ts';

export interface WrittenBackup extends BackupRecord {
  file: string;
  /** Size of the backup itself. */
  bytes: number;
  data_dir: string;
  /** Whether the service was running. */
  online: boolean;
  problems: Problem[];
}

/** A backup contains every secret of the service. */
const privateMode = 0o600;
const updateMilliseconds = 200;

/** @param file the target; `-` is stdout. @throws AopsError `disk_full`, `not_writable`, or the reason why the hold was lost */
export async function writeBackup(
  context: Context,
  held: HeldDataDirectory,
  { file, force }: { file: string; force: boolean },
): Promise<WrittenBackup> {
  const { backupBytes, newProgress } = await import('../../service/backup/index.ts');
  const progress = newProgress();
  const toStdout = file === '-';
  const target = toStdout ? file : path.resolve(context.cwd, file);
  // Next to the backup, so that filling its disk does not fill that of the service.
  const folder = await makeWorkFolder(toStdout ? tmpdir() : path.dirname(target), context.clock);
  const spinner = startSpinner(context.terminal, 'Copying the database', context.clock);
  const signal = anySignal([context.signal, held.lossSignal]);
  let bytes = 0;
  let updatedAt = context.clock.now();
  const content = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of backupBytes(held, path.join(folder.path, 'aops.db'), progress, signal)) {
      bytes += chunk.length;
      if (context.clock.now() - updatedAt >= updateMilliseconds) {
        updatedAt = context.clock.now();
        spinner.update(`Backing up: ${pluralize(progress.files, 'file')}, ${formatSize(progress.bytes)}`);
      }
      yield chunk;
    }
  };
  try {
    if (toStdout) for await (const chunk of content()) await context.terminal.bytes(chunk);
    else await saveContent(context, content, file, force, { mode: privateMode, workFolder: folder.path });
  } catch (error) {
    signal.throwIfAborted();
    throw writeFailure(error, toStdout ? folder.path : target);
  } finally {
    spinner.stop();
    await folder.end();
  }
  if (!held.runsWaited())
    context.terminal.warn(
      'Copying took so long that runs continued while their files were copied. After a restore, some of their steps might be repeated.',
    );
  for (const { path: name, problem } of progress.problems.slice(0, 5)) context.terminal.warn(sanitizeLine(`${name}: ${problem}`));
  const { sandboxes, files, bytes: content_bytes, problems } = progress;
  const info = progress.info as BackupInfo;
  return { file: target, bytes, data_dir: held.path, online: held.running, ...info, sandboxes, files, content_bytes, problems };
}
