/** What the model does, independent of the agent, and the tool calls of each agent that do it. */

/** What a scripted model does next. Paths are relative to the agent's working directory, or absolute. */
export type Step =
  | { say: string }
  | { read: string }
  | { write: string; content: string }
  /** Replaces a text in a file. Some agents require that the model has read the file. */
  | { edit: string; from: string; to: string }
  | { run: string }
  /** Calls a tool by its name, such as one of an MCP server. */
  | { call: string; with: Record<string, unknown> }
  /** Fails with an HTTP status. */
  | { fail: number; message: string }
  /** Never answers. */
  | { hang: true };

type Action = Extract<Step, { read: string } | { write: string } | { edit: string } | { run: string }>;
type Arguments = Record<string, unknown> | string;
type Call = { tool: string; arguments: Arguments };

const claudeAndGemini = (step: Action, names: { read: string; write: string; edit: string; run: string }): Call => {
  if ('run' in step) return { tool: names.run, arguments: { command: step.run, description: 'Run a command' } };
  if ('read' in step) return { tool: names.read, arguments: { file_path: step.read } };
  if ('write' in step) return { tool: names.write, arguments: { file_path: step.write, content: step.content } };
  const change = { file_path: step.edit, old_string: step.from, new_string: step.to };
  return { tool: names.edit, arguments: names.edit === 'replace' ? { ...change, instruction: 'Replace the text' } : change };
};

const openCode = (step: Action): Call => {
  if ('run' in step) return { tool: 'bash', arguments: { command: step.run, description: 'Run a command' } };
  if ('read' in step) return { tool: 'read', arguments: { filePath: step.read } };
  if ('write' in step) return { tool: 'write', arguments: { filePath: step.write, content: step.content } };
  return { tool: 'edit', arguments: { filePath: step.edit, oldString: step.from, newString: step.to } };
};

const withPrefix = (prefix: string, text: string): string =>
  text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => `${prefix}${line}\n`)
    .join('');

const codex = (step: Action): Call => {
  if ('run' in step || 'read' in step) {
    const command =
      'run' in step
        ? { cmd: step.run, sandbox_permissions: 'require_escalated', justification: 'May I run it?' }
        : { cmd: `cat '${step.read}'` };
    return { tool: 'exec_command', arguments: command };
  }
  const change =
    'write' in step
      ? `*** Add File: ${step.write}\n${withPrefix('+', step.content)}`
      : `*** Update File: ${step.edit}\n@@\n${withPrefix('-', step.from)}${withPrefix('+', step.to)}`;
  return { tool: 'apply_patch', arguments: `*** Begin Patch\n${change}*** End Patch\n` };
};

/** The agents, recognised by a tool that only they offer. */
const dialects: [tool: string, translate: (step: Action) => Call][] = [
  ['Write', (step) => claudeAndGemini(step, { read: 'Read', write: 'Write', edit: 'Edit', run: 'Bash' })],
  ['write_file', (step) => claudeAndGemini(step, { read: 'read_file', write: 'write_file', edit: 'replace', run: 'run_shell_command' })],
  ['write', openCode],
  ['exec_command', codex],
];

/** The call of one of these tools that performs the action; undefined if they are not the tools of an agent that can act. */
export const callFor = (step: Action, tools: readonly string[]): Call | undefined =>
  dialects.find(([tool]) => tools.includes(tool))?.[1](step);

/** Whether these are the tools of an agent that acts; requests for titles, summaries and the like offer fewer or none. */
export const offersActions = (tools: readonly string[]): boolean => dialects.some(([tool]) => tools.includes(tool));
