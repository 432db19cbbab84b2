/** An export as one JSON document, piece by piece; schema.ts describes it. */
import { crypto } from '../../../base/crypto.ts';
import type { ExportContent, ExportedShot } from './content.ts';

export const exportFormat = 'aops.run';
/** Increased when a field is removed or gets another meaning. */
export const exportVersion = 1;

export async function* jsonExport(content: ExportContent): AsyncGenerator<string, void, undefined> {
  const { creator, exportedAt, head, changes, files, redaction } = content;
  const first = { format: exportFormat, version: exportVersion, exported_at: exportedAt, exported_by: creator, ...head };
  // The beginning of an object that is completed below.
  yield `${JSON.stringify(first).slice(0, -1)},\n"timeline":`;
  yield* list(content.timeline());
  yield `,\n"screenshots":`;
  yield* list(shots(content.screenshots()));
  const rest = {
    changes:
      changes === undefined
        ? null
        : {
            source: changes.repository.source,
            commit: changes.repository.commit,
            total_files: changes.totalFiles,
            diffs: changes.diffs?.map(({ path, diff }) => ({ path, diff })) ?? null,
          },
    files,
    left_out: content.leftOut(),
    redactions: redaction.list,
  };
  yield `,\n${JSON.stringify(rest).slice(1)}\n`;
}

async function* list(items: AsyncIterable<unknown>): AsyncGenerator<string, void, undefined> {
  let separator = '[\n';
  for await (const item of items) {
    yield `${separator}${JSON.stringify(item)}`;
    separator = ',\n';
  }
  yield separator === '[\n' ? '[]' : '\n]';
}

async function* shots(content: AsyncIterable<ExportedShot>): AsyncGenerator<object, void, undefined> {
  for await (const { shot, picture } of content) {
    const { number, toolName, action, startedAt, endedAt, input, error } = shot;
    yield {
      number,
      tool: toolName,
      action: action ?? null,
      started_at: startedAt,
      ended_at: endedAt,
      input: input ?? {},
      error: error ?? null,
      picture:
        picture === undefined || 'missing' in picture
          ? null
          : {
              media_type: picture.mimeType,
              size: picture.bytes.length,
              sha256: crypto().createHash('sha256').update(picture.bytes).digest('hex'),
              base64: picture.bytes.toString('base64'),
            },
      left_out: picture !== undefined && 'missing' in picture ? picture.missing : null,
    };
  }
}
