/**
 * The content of an export, without secrets: everything that is written goes through the redaction. The timeline and the pictures are
 * read while they are written.
 */
import { SecretRedaction } from '../../../base/secret-redaction.ts';
import { firstLine } from '../../../base/values.ts';
import { version } from '../../../base/version.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { readPart } from '../../../cli/run-record/gaps.ts';
import { type RecordHead, recordHead } from '../../../cli/run-record/head.ts';
import { runMessages } from '../../../cli/run-record/messages.ts';
import { patchParts, shownPart } from '../../../cli/run-record/patch-parts.ts';
import { readRunRecord } from '../../../cli/run-record/read.ts';
import { type RepositoryChanges, readChanges } from '../../../cli/run-record/repository-changes.ts';
import { type FileRecord, readFiles } from '../../../cli/run-record/sandbox-files.ts';
import { type Entry, type FileDiff, timelineEntries } from '../../../cli/run-record/timeline.ts';
import type { ChangedFile, RecordedHumanRequest, RunChanges } from '../../../interface/types.ts';
import type { Picture } from '../film-strip/pictures.ts';
import { numberShots, type Shot } from '../shots.ts';

export interface ExportOptions {
  /** Whether to read the files in the sandbox, and the screenshots. */
  files: boolean;
  screenshots: boolean;
}

/** A screenshot with its picture, or the reason why it is left out. */
export interface ExportedShot {
  shot: Shot;
  picture: Picture | undefined;
}

/** What the run changed in its repository. */
export interface ExportedChanges {
  repository: RunChanges['repository'];
  totalFiles: number;
  /** By file; undefined if the patch is too large. */
  diffs: ExportedDiff[] | undefined;
}

export interface ExportedDiff extends FileDiff {
  /** For people: without binary content. */
  shown: string;
}

export interface ExportContent {
  /** `aops 0.1.0` */
  creator: string;
  exportedAt: string;
  head: RecordHead;
  shotCount: number;
  timeline(): AsyncIterable<Entry>;
  /** Read after the timeline. */
  screenshots(): AsyncIterable<ExportedShot>;
  changes: ExportedChanges | undefined;
  files: FileRecord[];
  /** What is not part of the export, in sentences. Call it once everything else was read. */
  leftOut(): string[];
  /** Complete once everything else was read. */
  redaction: SecretRedaction;
}

/** Limits of the pictures of an export in bytes. */
export const pictureLimits = { picture: 5 * 1024 * 1024, total: 25 * 1024 * 1024 };

export async function exportContent(context: Context, name: string, options: ExportOptions): Promise<ExportContent> {
  const { signal, clock } = context;
  const client = await context.client();
  const record = await readRunRecord(context, name);
  const { id } = record.run;
  const { gaps } = record;
  const redaction = new SecretRedaction(ownCredential(context));
  const shots = options.screenshots
    ? await readPart(gaps, 'The screenshots', async () => numberShots(await timelineOf(context, id)))
    : undefined;
  const changes = options.files ? await readChanges(client, id, { signal, gaps }) : undefined;
  // The files of a repository are in the repository; what the run changed is in the patch.
  const files = options.files && changes === undefined ? await readFiles(client, id, { signal, gaps }) : [];
  if (!options.files) gaps.push('The files of the run were left out with --no-files.');
  if (!options.screenshots) gaps.push('The screenshots were left out with --no-screenshots.');
  async function* timeline(): AsyncGenerator<Entry, void, undefined> {
    for await (const entry of timelineEntries(runMessages(client, id), record.requests)) yield redactEntry(entry, redaction);
  }
  let leftOut: string[] | undefined;
  return {
    creator: `aops ${version}`,
    exportedAt: new Date(clock.now()).toISOString(),
    head: redaction.value(await recordHead(record), 'run and revision') as RecordHead,
    shotCount: shots?.length ?? 0,
    timeline,
    screenshots: () => pictures(context, id, shots ?? [], redaction, gaps),
    changes: changes && exportedChanges(changes, redaction),
    files: files.map((file) => ({ ...file, path: redaction.text(file.path, 'files') })),
    leftOut: () => (leftOut ??= gaps.map((sentence) => redaction.text(sentence, 'left out'))),
    redaction,
  };
}

function exportedChanges({ changes, patch }: RepositoryChanges, redaction: SecretRedaction): ExportedChanges {
  const repository = redaction.value(changes.repository, 'files') as RunChanges['repository'];
  const diffs = patch === null ? undefined : patchParts(patch).map((part, index) => exportedDiff(changes.files[index], part, redaction));
  return { repository, totalFiles: changes.total_files, diffs };
}

/** @param file undefined after the first 10,000, which are all that the service lists */
function exportedDiff(file: ChangedFile | undefined, part: string, redaction: SecretRedaction): ExportedDiff {
  const diff = redaction.text(part, 'diffs');
  const path = redaction.text(file?.path ?? firstLine(part).replace('diff --git ', ''), 'files');
  return { path, diff, shown: file === undefined ? diff : shownPart({ ...file, path }, diff) };
}

/** The credential of this command, which an agent might have seen. */
function ownCredential(context: Context): ReadonlyMap<string, string> {
  const { value } = context.config().credential;
  const secret = value?.type === 'token' ? value.token : value?.client_secret;
  return new Map(secret === undefined ? [] : [['credential of this command', secret]]);
}

async function timelineOf(context: Context, run_id: string) {
  const client = await context.client();
  return (await client.call('getRunScreenshotTimeline', { params: { run_id } })).data.toolExecutions;
}

function redactEntry(entry: Entry, redaction: SecretRedaction): Entry {
  if (entry.kind === 'request')
    return { ...entry, request: redaction.value(entry.request, 'human requests and answers') as RecordedHumanRequest };
  if (entry.kind !== 'tool')
    return { ...entry, text: redaction.text(entry.text, entry.kind === 'answer' ? 'human requests and answers' : 'messages') };
  return {
    ...entry,
    name: redaction.text(entry.name, 'tool calls'),
    ...('arguments' in entry ? { arguments: redaction.value(entry.arguments, 'tool calls') } : {}),
    ...('result' in entry ? { result: redaction.value(entry.result, 'tool results') } : {}),
    ...(entry.error === undefined ? {} : { error: redaction.text(entry.error, 'tool results') }),
    diffs: entry.diffs.map(({ path, diff }) => ({ path: redaction.text(path, 'diffs'), diff: redaction.text(diff, 'diffs') })),
  };
}

/** One picture for each action, the one after it if there is one, as long as they fit. */
async function* pictures(
  context: Context,
  id: string,
  shots: readonly Shot[],
  redaction: SecretRedaction,
  gaps: string[],
): AsyncGenerator<ExportedShot, void, undefined> {
  if (shots.length === 0) return;
  const { frames } = await import('../film-strip/pictures.ts');
  const client = await context.client();
  const onlyOne = shots.map((shot) => (shot.afterScreenshot ? { ...shot, beforeScreenshot: null } : shot));
  let remainingBytes = pictureLimits.total;
  let leftOutCount = 0;
  for await (const { shot, before, after } of frames(client, onlyOne, () => timelineOf(context, id), context.signal)) {
    const clean = redaction.value({ ...shot, beforeScreenshot: null, afterScreenshot: null }, 'screenshots') as Shot;
    const picture = after ?? before;
    const size = picture !== undefined && 'bytes' in picture ? picture.bytes.length : 0;
    if (size > pictureLimits.picture || size > remainingBytes) {
      leftOutCount += 1;
      yield {
        shot: clean,
        picture: { missing: size > pictureLimits.picture ? 'it is larger than 5 MiB' : 'the pictures before it take 25 MiB' },
      };
      continue;
    }
    remainingBytes -= size;
    yield { shot: clean, picture };
  }
  if (leftOutCount > 0)
    gaps.push(
      `${leftOutCount} of ${shots.length} screenshots are listed without a picture, because they are large. \`aops runs screenshots RUN --html FILE\` writes all of them.`,
    );
}
