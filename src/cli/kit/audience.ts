/** Who reads the result of a command, and how it is shown to them. */
import type { View } from '../../terminal/cell.ts';
import type { Context } from './context.ts';

/** Whether people read the result, rather than a program. */
export const forPeople = ({ format, flags }: Context): boolean =>
  format === 'table' && flags.fields === undefined && flags.jq === undefined;

/** How stdout shows things to whoever reads it. */
export async function viewOf({ terminal: { out }, clock }: Context): Promise<View> {
  return { tty: out.isTTY, width: out.columns, now: clock.now(), styles: await out.styles(), unicode: out.unicode, links: out.links };
}
