/** Progress of a file transfer: a bar on a terminal, once the transfer takes longer than a moment. Shows nothing elsewhere. */
import type { Clock } from '../base/clock.ts';
import { formatDuration } from '../base/duration.ts';
import { type StatusLine, statusLine } from './progress.ts';
import { formatSize } from './size.ts';
import type { Terminal } from './streams.ts';

/** Quick transfers show nothing. */
const appearMs = 500;
const redrawMs = 200;
/** The rate is shown only after this long. */
const rateMs = 2_000;
const barWidth = 20;
/** Columns for the spinner in front of the line, and one that is left free. */
const reservedColumns = 3;

export interface TransferCounts {
  files: number;
  /** Undefined until it is known. */
  totalFiles: number | undefined;
  bytes: number;
  totalBytes: number;
}

export interface TransferProgress {
  readonly state: TransferCounts;
  /** Removes the progress line. Safe to call twice. */
  stop(): void;
}

/** Starts showing progress. @param verb such as `Downloading` */
export function startTransferProgress(terminal: Terminal, verb: string, clock: Clock): TransferProgress {
  const state: TransferCounts = { files: 0, totalFiles: undefined, bytes: 0, totalBytes: 0 };
  if (!terminal.animated) return { state, stop() {} };
  const stopController = new AbortController();
  const startedAt = clock.now();
  const text = (): string => progressText(verb, state, clock.now() - startedAt, terminal.err.columns - reservedColumns);
  const showAfterDelay = async (): Promise<void> => {
    await clock.sleep(appearMs, stopController.signal);
    const line: StatusLine | undefined = await statusLine(terminal);
    if (!line || stopController.signal.aborted) return;
    line.start(text);
    const timer = setInterval(line.refresh, redrawMs).unref();
    const end = (): void => {
      clearInterval(timer);
      line.stop();
    };
    stopController.signal.addEventListener('abort', end);
  };
  void showAfterDelay().catch(() => undefined);
  return { state, stop: () => stopController.abort() };
}

/** The progress line, at most `columns` wide: less important parts are left out first. Pure. */
export function progressText(verb: string, state: TransferCounts, elapsedMs: number, columns: number): string {
  const { files, totalFiles, bytes, totalBytes } = state;
  if (totalFiles === undefined) return `${verb}: listing the files`.slice(0, columns);
  const share = totalBytes > 0 ? Math.min(1, bytes / totalBytes) : totalFiles > 0 ? files / totalFiles : 1;
  const count = totalFiles === 1 ? verb : `${verb} ${files} of ${totalFiles} files`;
  const percentage = `${Math.floor(share * 100)} %`;
  const filledWidth = Math.round(share * barWidth);
  const bar = `[${'='.repeat(filledWidth)}${' '.repeat(barWidth - filledWidth)}]`;
  const amount = `${formatSize(bytes)} of ${formatSize(totalBytes)}`;
  const rate = elapsedMs >= rateMs ? bytes / (elapsedMs / 1_000) : 0;
  const speed = rate > 0 ? [`${formatSize(rate)}/s`] : [];
  const remaining =
    rate > 0 && bytes < totalBytes ? [`${formatDuration(Math.max(1, Math.ceil((totalBytes - bytes) / rate)) * 1_000)} left`] : [];
  const forms = [
    [count, bar, percentage, amount, ...speed, ...remaining],
    [count, bar, percentage, amount],
    [count, bar, percentage],
    [count, percentage],
    [percentage],
  ];
  const fittingLine = forms.map((parts) => parts.join('  ')).find((line) => line.length <= columns);
  return fittingLine ?? '';
}
