/** Writes pages and files from the service: into a file, completely or not at all, or to stdout. */
import path from 'node:path';
import { UsageError } from '../../base/errors.ts';
import { type Content, chosenFile, type WriteOptions } from '../../client/transfers/local-files.ts';
import type { Context } from './context.ts';

/** Makes sure that a file can be written. @throws UsageError when there is something that must not be replaced */
export function checkTarget(context: Context, file: string, force: boolean): void {
  const { folder, name } = place(context, file);
  folder.check(name, force);
}

/** Writes a file and resolves to its size in bytes. @throws UsageError when it already exists and `force` is false */
export async function saveContent(
  context: Context,
  content: Content,
  file: string,
  force: boolean,
  options: Pick<WriteOptions, 'mode' | 'workFolder'> = {},
): Promise<number> {
  const { folder, name } = place(context, file);
  return folder.write(name, content, { ...options, replace: force, signal: context.signal });
}

const place = (context: Context, file: string) => chosenFile(path.resolve(context.cwd, file));

/** Writes to stdout: byte for byte, but sanitised on a terminal. @throws UsageError for content that is not text on a terminal */
export async function printContent(context: Context, content: Content, isText: boolean): Promise<void> {
  const { terminal } = context;
  const bytes = content(async () => {
    throw new UsageError('The connection broke off, and a part of the content was already printed.', 'Run the command again.');
  });
  if (!terminal.out.isTTY) {
    for await (const chunk of bytes) await terminal.bytes(chunk);
    return;
  }
  if (!isText) throw new UsageError('The content is not text and would garble the terminal.', 'Specify a file to write it to.');
  const decoder = new TextDecoder();
  for await (const chunk of bytes) await terminal.write(decoder.decode(chunk, { stream: true }));
  await terminal.write(decoder.decode());
}
