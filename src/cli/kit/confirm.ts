/** Asks for confirmation before something is destroyed. */
import { AopsError, exitCodes } from '../../base/errors.ts';
import type { Context } from './context.ts';

/**
 * Returns when the user agrees, on the terminal or with --yes.
 * @throws AopsError `not_confirmed` (exit 2) when refused, or when there is no terminal
 */
export async function confirm(context: Context, question: string): Promise<void> {
  if (context.flags.yes) return;
  const notConfirmed = (message: string, hint: string): AopsError =>
    new AopsError(message, { code: 'not_confirmed', exit: exitCodes.usage, hint });
  if (!context.terminal.interactive)
    throw notConfirmed(`This needs confirmation, and there is no interactive terminal: ${question}`, 'Pass --yes to confirm.');
  if (!(await context.prompter.confirm({ message: question, initial: false })))
    throw notConfirmed('Nothing was changed, because you did not confirm.', 'Answer y, or pass --yes.');
}
