/** The form of a result that flags ask for: what can be checked before a command runs, and what to say if it fails afterwards. */
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { parseFields } from '../../terminal/fields.ts';
import { noIdsError } from '../../terminal/formats.ts';
import { checkJq } from '../../terminal/jq.ts';
import { parseTemplate } from '../../terminal/template.ts';
import type { AnyCommand } from '../kit/command.ts';
import type { Context } from '../kit/context.ts';
import type { GlobalFlags } from '../kit/global-flags.ts';

/**
 * Checks flags before the command changes anything, or waits for something that can take hours.
 * @throws UsageError for flags that exclude each other, `template_failed`, `jq_failed` for a filter that does not compile, `no_id`
 */
export async function checkForm({ format, flags }: Context, command: AnyCommand): Promise<void> {
  if (flags.template !== undefined) await checkTemplateFlag(flags);
  if (flags.fields !== undefined) parseFields(flags.fields);
  if (flags.jq !== undefined) await checkJq(flags.jq);
  if (format === 'id' && flags.jq === undefined && flags.template === undefined) await checkHasIds(command);
}

async function checkTemplateFlag({ template = '', jq, fields }: GlobalFlags): Promise<void> {
  if (jq !== undefined || fields !== undefined)
    throw new UsageError(
      `--template cannot be combined with ${jq === undefined ? '--fields' : '--jq'}.`,
      'The template itself selects what is printed.',
    );
  await parseTemplate(template);
}

async function checkHasIds(command: AnyCommand): Promise<void> {
  const { resultFields } = await import('./result-fields.ts');
  const fields = resultFields(command)?.fields;
  if (fields !== undefined && !Object.hasOwn(fields, 'id')) throw noIdsError();
}

/** The fields that --fields and --template may name: without them, an empty list would accept any name. Loaded only when they are needed. */
export async function knownFields({ flags }: Context, command: AnyCommand): Promise<readonly string[] | undefined> {
  if ((flags.fields === undefined && flags.template === undefined) || command.output?.kind === 'raw') return undefined;
  const { resultFields } = await import('./result-fields.ts');
  return Object.keys(resultFields(command)?.fields ?? {});
}

const formErrors = new Set(['unknown_field', 'jq_failed', 'template_failed', 'no_id']);

/** Whether an error says only that a result cannot be printed in the form that flags ask for. */
export const isFormError = (error: unknown): error is UsageError => error instanceof UsageError && formErrors.has(error.code);

/** The same error, for a command that has changed something: exit code 2 would mean that it has not. */
export const afterChanges = ({ message, code, hint, details }: UsageError): AopsError =>
  new AopsError(`The command has made its changes, but the result cannot be printed: ${message}`, {
    ...{ code, hint, details },
    exit: exitCodes.failure,
  });
