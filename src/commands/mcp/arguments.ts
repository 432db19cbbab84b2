/** Finds a tool by its name and checks its arguments against its schema before they are sent. */
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import type { ListedTool } from '../../client/mcp/tools.ts';

/** The tool with this name. @throws AopsError `tool_not_found` with a suggestion */
export function toolNamed(tools: readonly ListedTool[], name: string): ListedTool {
  const tool = tools.find((candidate) => candidate.name === name);
  if (tool !== undefined) return tool;
  const names = tools.map((tool) => tool.name);
  const similar = nearest(name, names);
  throw new AopsError(`The service has no tool "${name}", or this credential cannot use it.`, {
    code: 'tool_not_found',
    exit: exitCodes.notFound,
    hint: similar === undefined ? 'List the tools with `aops mcp tools`.' : `Did you mean ${similar}?`,
  });
}

/** The arguments of a tool from the flags. @throws UsageError when they are not an object */
export function toolArguments(body: unknown): Record<string, unknown> {
  if (body === undefined) return {};
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Record<string, unknown>;
  throw new UsageError('--input must contain a JSON object with the arguments of the tool.');
}

/**
 * Checks arguments against the tool's own schema.
 * @throws UsageError `invalid_arguments` with the problem of each argument
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
      // If the schema cannot be compiled here, the service checks the arguments.
      return [];
    }
  })();
  if (problems.length === 0) return;
  const lines = problems.map(({ path, message }) => `${path || 'the object'} ${message}`);
  const hasTypeProblem = problems.some(({ message }) => /must be (an integer|a number|true or false|null)/.test(message));
  const argumentNames = Object.keys((tool.inputSchema.properties ?? {}) as object).join(', ');
  const hint = hasTypeProblem
    ? '-F sends numbers, true, false, and null; -f sends text.'
    : `The arguments of ${tool.name} are: ${argumentNames || 'none'}.`;
  throw new UsageError(`Invalid arguments for ${tool.name}: ${lines.join('; ')}.`, hint, 'invalid_arguments');
}
