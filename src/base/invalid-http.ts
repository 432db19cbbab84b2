/** Recognizes answers that are not valid HTTP by the errors of undici. */

/** The codes of its errors, besides those of its parser: an answer that switches protocols unasked, or has a status below 100, or another length. */
const codes = ['ERR_ASSERTION', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'];

/** Whether a request failed because its answer was not valid HTTP. @param error an error of undici */
export function isInvalidHttp(error: unknown): boolean {
  const { code = '', name = '' } = error as { code?: string; name?: string };
  return name === 'HTTPParserError' || code.startsWith('HPE_') || codes.includes(code);
}
