/** Parts of a record that cannot be read are named in it; they are not errors. */
import { AopsError, exitCodes } from '../../base/errors.ts';

const gapCodes: readonly string[] = ['not_offered', 'too_many_files', 'too_deep', 'file_changed'];

/**
 * Whether an error means that the service does not have or offer something, or does not permit reading it. A network that fails and a
 * limit that is reached are errors, because the next attempt could succeed.
 */
export const isGap = (error: unknown): error is AopsError =>
  error instanceof AopsError &&
  (error.exit === exitCodes.notFound ||
    error.exit === exitCodes.forbidden ||
    error.code.startsWith('sandbox_') ||
    gapCodes.includes(error.code));

/**
 * The result of a request, or undefined, with a sentence in `gaps`, if the service does not have or permit it.
 * @param describe makes the sentence from the message of the error
 */
export async function readOrNoteGap<T>(
  gaps: string[],
  read: () => Promise<T>,
  describe = (message: string): string => message,
): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!isGap(error)) throw error;
    const sentence = describe(error.message);
    if (!gaps.includes(sentence)) gaps.push(sentence);
    return undefined;
  }
}

/** The same for a part of the record. @param part what it is, as the beginning of a sentence: `The screenshots` */
export const readPart = <T>(gaps: string[], part: string, read: () => Promise<T>): Promise<T | undefined> =>
  readOrNoteGap(gaps, read, (message) => `${part} could not be read: ${message}`);
