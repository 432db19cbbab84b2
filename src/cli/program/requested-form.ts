/** The form of a result that flags ask for: what can be checked before a command runs, and what to say if it fails afterwards. */
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { memberOf, parseFields, unknownField } from '../../terminal/fields.ts';
import { noIdsError } from '../../terminal/formats.ts';
import { checkJq } from '../../terminal/jq.ts';
import { parseTemplate } from '../../terminal/template.ts';
import { envelopeMembers, subjectMembers } from '../../watch/envelope.ts';
import type { AnyCommand } from '../kit/command.ts';
import type { Context } from '../kit/context.ts';
import type { GlobalFlags } from '../kit/global-flags.ts';

/**
 * Checks flags before the command changes anything, or waits for something that can take hours.
 * @throws UsageError for flags that exclude each other, `template_failed`, `jq_failed` for a filter that does not compile, `no_id`, and
 * `unknown_field` for a field that no result of the command has
 */
export async function checkForm(context: Context, command: AnyCommand): Promise<void> {
  const { format, flags } = context;
  const paths = flags.template === undefined ? pathsOf(flags) : await templatePaths(flags);
  if (flags.jq !== undefined) await checkJq(flags.jq);
  if (paths !== undefined && checksFieldsFirst(command)) await checkFieldNames(context, command, paths);
  if (format === 'id' && flags.jq === undefined && flags.template === undefined) await checkHasIds(command);
}

const pathsOf = ({ fields }: GlobalFlags): string[] | undefined => (fields === undefined ? undefined : parseFields(fields));

async function templatePaths({ template = '', jq, fields }: GlobalFlags): Promise<string[]> {
  if (jq !== undefined || fields !== undefined)
    throw new UsageError(
      `--template cannot be combined with ${jq === undefined ? '--fields' : '--jq'}.`,
      'The template itself selects what is printed.',
    );
  return (await parseTemplate(template)).paths;
}

/**
 * Whether the fields that a result cannot have are rejected before the command runs: if it changes something, or can wait until a person
 * has answered. Other commands print whatever fields the service adds.
 */
export const checksFieldsFirst = ({ mutates, options, isResultOpen }: AnyCommand): boolean =>
  isResultOpen !== true && (mutates === true || options?.notify !== undefined || options?.onRequest !== undefined);

/** Checks only the first part of each path: what is in an object is not always known. */
async function checkFieldNames(context: Context, command: AnyCommand, paths: readonly string[]): Promise<void> {
  const fields = (await knownFields(context, command)) ?? [];
  // A dry run prints the request.
  if (fields.length === 0 || context.flags.dryRun) return;
  const printsEvents = context.format === 'ndjson' && command.options?.onRequest !== undefined;
  const members = new Set(printsEvents ? [...fields, ...envelopeMembers, ...subjectMembers] : fields);
  const unknownPath = paths.find((path) => !members.has(memberOf(path)));
  if (unknownPath === undefined) return;
  const { resultFields } = await import('./result-fields.ts');
  const names = [...Object.keys(resultFields(command)?.fields ?? {}), ...(printsEvents ? envelopeMembers : [])];
  throw unknownField(unknownPath, names.sort());
}

async function checkHasIds(command: AnyCommand): Promise<void> {
  const { resultFields } = await import('./result-fields.ts');
  const fields = resultFields(command)?.fields;
  if (fields !== undefined && !Object.hasOwn(fields, 'id')) throw noIdsError();
}

/** The fields that --fields and --template may name: without them, an empty list would accept any name. Loaded only when they are needed. */
export async function knownFields({ flags }: Context, command: AnyCommand): Promise<readonly string[] | undefined> {
  if ((flags.fields === undefined && flags.template === undefined) || command.output?.kind === 'raw') return undefined;
  const { printedFields } = await import('./result-fields.ts');
  return printedFields(command);
}

const formErrors = new Set(['unknown_field', 'jq_failed', 'template_failed', 'no_id']);

/** Whether an error says only that a result cannot be printed in the form that flags ask for. */
export const isFormError = (error: unknown): error is UsageError => error instanceof UsageError && formErrors.has(error.code);

/** The same error, for a command that has changed something: exit code 2 would mean that it has not. */
export const afterChanges = ({ message, code, hint, details }: UsageError): AopsError =>
  new AopsError(`The command was carried out, but its result cannot be printed: ${message}`, {
    ...{ code, hint, details },
    exit: exitCodes.failure,
  });
