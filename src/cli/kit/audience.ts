/** Whether people or programs read the result of a command. */
import type { View } from '../../terminal/cell.ts';
import type { Context } from './context.ts';

/** Whether the result is for people rather than for programs. */
export const forPeople = (context: Context): boolean => context.format === 'table' && !reshapesOutput(context);

/** Whether a person reads the result, and can be prompted: then a command talks with them instead of printing a list. */
export const isConversation = (context: Context): boolean =>
  forPeople(context) && context.terminal.interactive && context.terminal.out.isTTY;

/** Whether flags change the form of the result: then it is neither a table for people nor a stream of events. */
export const reshapesOutput = ({ flags }: Context): boolean =>
  flags.fields !== undefined || flags.jq !== undefined || flags.template !== undefined;

/** The view of stdout. */
export async function viewOf({ terminal: { out }, clock }: Context): Promise<View> {
  return { tty: out.isTTY, width: out.columns, now: clock.now(), styles: await out.styles(), unicode: out.unicode, links: out.links };
}
