/** The arguments of a tool: found by its name, checked against its schema before they are sent. */
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import type { ListedTool } from '../../client/mcp/tools.ts';

/** The tool of a name. @throws AopsError `tool_not_found`, with the name that was probably meant */
export function toolNamed(tools: readonly ListedTool[], name: string): ListedTool {
  const tool = tools.find((known) => known.name === name);
  if (tool !== undefined) return tool;
  const names = tools.map((known) => known.name);
  const meant = nearest(name, names);
  throw new AopsError(`The service has no tool "${name}", or not for this credential.`, {
    code: 'tool_not_found',
    exit: exitCodes.notFound,
    hint: meant === undefined ? 'List those there are with `aops mcp tools`.' : `Did you mean ${meant}?`,
  });
}

/** What the flags describe, as the arguments of a tool. @throws UsageError when it is no object */
export function toolArguments(body: unknown): Record<string, unknown> {
  if (body === undefined) return {};
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Record<string, unknown>;
  throw new UsageError('The arguments of a tool are a JSON object, and --input holds none.');
}

/**
 * Checks arguments against the tool's own schema.
 * @throws UsageError `invalid_arguments` that names each argument and what is wrong with it
 */
export async function checkArguments(tool: ListedTool, args: Record<string, unknown>): Promise<void> {
  const [{ Compile }, { schemaProblems }] = await Promise.all([
    import('../../interface/validator.ts'),
    import('../../interface/schema-problems.ts'),
  ]);
  const problems = ((): ReturnType<typeof schemaProblems> => {
    try {
      const validator = Compile(tool.inputSchema);
      return validator.Check(args) ? [] : schemaProblems(validator.Errors(args));
    } catch {
      // A schema that cannot be understood here is the service's to check.
      return [];
    }
  })();
  if (problems.length === 0) return;
  const lines = problems.map(({ path, message }) => `${path || 'The whole'} ${message}`);
  const typed = problems.some(({ message }) => /must be (an integer|a number|true or false|null)/.test(message));
  const known = Object.keys((tool.inputSchema.properties ?? {}) as object).join(', ');
  const hint = typed
    ? '-F gives numbers, true, false and null; -f gives text.'
    : `${tool.name} takes: ${known === '' ? 'nothing' : known}.`;
  throw new UsageError(`The arguments do not fit ${tool.name}: ${lines.join('; ')}.`, hint, 'invalid_arguments');
}
