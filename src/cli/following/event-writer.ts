/** Prints the events of a stream for programs: each as JSON on a line, or in the form that --fields, --jq, or --template ask for. */
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { checkFields, parseFields, selectFields } from '../../terminal/fields.ts';
import { runJq } from '../../terminal/jq.ts';
import { sanitize } from '../../terminal/sanitize.ts';
import { parseTemplate } from '../../terminal/template.ts';
import { type Envelope, envelopeMembers } from '../../watch/envelope.ts';
import { reshapesOutput } from '../kit/audience.ts';
import type { Context } from '../kit/context.ts';
import type { GlobalFlags } from '../kit/global-flags.ts';

/** Resolves when the event has been passed to stdout. @throws AopsError if a filter or a template cannot be applied to it */
export type WriteEvent = (event: Pick<Envelope, 'seq' | 'type'>) => Promise<void>;

interface Stream {
  /** The members of its events next to those of all streams, such as `run_id`. */
  fields: readonly string[];
  /** The value of --resume. */
  resume?: string | undefined;
}

/**
 * Checks the form of events before a command starts or follows something.
 * @throws UsageError `unknown_field` for a member that no event of the stream has, and for a file that could not be continued
 */
export async function checkEventForm(context: Context, { fields, resume }: Stream): Promise<void> {
  if (!reshapesOutput(context)) return;
  const { flags } = context;
  if (resume?.startsWith('@'))
    throw new UsageError(
      '--resume @FILE cannot be combined with --fields, --jq, or --template.',
      'The file records the position with complete events. Use --resume auto, which stores the position elsewhere.',
    );
  const paths = flags.template === undefined ? pathsOf(flags) : (await parseTemplate(flags.template)).paths;
  checkFields([], paths ?? [], [...envelopeMembers, ...fields]);
}

const pathsOf = ({ fields }: GlobalFlags): string[] | undefined => (fields === undefined ? undefined : parseFields(fields));

/** Prints events in the form that flags ask for. Check them with `checkEventForm` first. */
export async function eventWriter(context: Context): Promise<WriteEvent> {
  const write = await formWriter(context);
  return (event) => write(event).catch((error) => Promise.reject(notPrinted(event, error)));
}

async function formWriter({ terminal, flags }: Context): Promise<(event: object) => Promise<void>> {
  const print = (text: string): Promise<void> => terminal.data(terminal.out.isTTY ? sanitize(text) : text);
  if (flags.template !== undefined) {
    const { render } = await parseTemplate(flags.template);
    return async (event) => {
      const text = await terminal.interruptibly(() => render(event));
      // A template with a condition prints nothing for the other events.
      if (text !== '') await print(`${text}\n`);
    };
  }
  const paths = pathsOf(flags);
  const selected = (event: object): unknown => (paths === undefined ? event : selectFields(event, paths));
  const { jq } = flags;
  if (jq !== undefined) {
    const filter = (event: object) => terminal.interruptibly(() => runJq(selected(event), jq, terminal.out.isTTY));
    return async (event) => print(await filter(event));
  }
  return (event) => terminal.json(selected(event));
}

/** Exit code 2 would mean that nothing was started or followed. */
const notPrinted = ({ seq, type }: Pick<Envelope, 'seq' | 'type'>, error: unknown): unknown =>
  error instanceof UsageError
    ? new AopsError(`Event ${seq}, ${type}, cannot be printed: ${error.message}`, {
        code: error.code,
        exit: exitCodes.failure,
        hint: 'The filter or template is applied to every event. Choose the ones that it is for: `select(.type == "message") | ...`.',
      })
    : error;
