/** The flags that limit the tools of `mcp serve`. */
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import type { Context } from '../../cli/kit/context.ts';
import { flag, texts } from '../../cli/kit/flags.ts';
import { permitEverything, type ToolPolicy, toolPolicy } from '../../client/mcp/tool-policy.ts';
import { listTools } from '../../client/mcp/tools.ts';
import { withSession } from './session.ts';

export const policyOptions = {
  readOnly: flag('Only offer tools that change nothing'),
  allow: texts('TOOL', 'Only offer this tool; * stands for any characters; can be repeated', { complete: 'tools', check: toolPattern }),
} as const;

interface PolicyInput {
  readOnly: boolean;
  allow: string[];
}

/** Several names can be passed at once, separated by commas. */
const patternsOf = (allow: readonly string[]): string[] => allow.flatMap((words) => words.split(',')).map((word) => word.trim());

function toolPattern(value: string, name: string): string {
  if (patternsOf([value]).every((word) => /^[\w.*-]+$/.test(word))) return value;
  throw new UsageError(`${name} must be the name of a tool or a pattern such as list_*, not "${value}".`);
}

/** The arguments of `aops mcp serve` for the same limits. */
export const policyArguments = ({ readOnly, allow }: PolicyInput): string[] => [
  ...(readOnly ? ['--read-only'] : []),
  ...patternsOf(allow).flatMap((word) => ['--allow', word]),
];

/**
 * The policy, by what the service declares about its tools.
 * @throws UsageError for names that match no tool, AopsError `no_tools` if nothing would be left
 */
export async function policyFrom(context: Context, { readOnly, allow }: PolicyInput): Promise<ToolPolicy> {
  if (!readOnly && allow.length === 0) return permitEverything;
  const tools = await withSession(context, listTools);
  const { policy, unknown, excluded } = toolPolicy(tools, { readOnly, allow: patternsOf(allow) });
  if (unknown.length > 0) {
    const suggestion = nearest(
      unknown[0] as string,
      tools.map(({ name }) => name),
    );
    throw new UsageError(
      `The service has no tool ${unknown.map((word) => `"${word}"`).join(', ')}.`,
      suggestion === undefined ? '`aops mcp tools` lists the tools.' : `Did you mean ${suggestion}? \`aops mcp tools\` lists the tools.`,
    );
  }
  if (excluded.length > 0)
    throw new UsageError(
      `--read-only excludes ${excluded.join(', ')}, which can change something.`,
      'Leave out --read-only, or remove it from --allow. `aops mcp tools` shows which tools are read-only.',
    );
  if (policy.permitted?.size === 0)
    throw new AopsError('The service declares none of its tools as read-only.', {
      code: 'no_tools',
      exit: exitCodes.failure,
      hint: 'Name the tools to offer with --allow instead.',
    });
  return policy;
}
