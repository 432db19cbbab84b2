/** The tools of a run: what its agent can do with them at the MCP endpoint of the service, and what it cannot. */
import { describe, expect, it } from 'vitest';
import type { Run } from '../../../../src/interface/types.ts';
import { misbehaving } from '../../../agents/installed.ts';
import { AgentMachine } from '../../helpers/agent-machine.ts';

/** What the agent does in its turn; see the mode `tools` of the misbehaving agent. */
type Element = Record<string, unknown>;
interface ToolResult {
  isError?: boolean;
  content: { text: string }[];
  structuredContent: Record<string, unknown>;
}

const prompt = (...elements: Element[]): string => JSON.stringify(elements);
const agent = { command: misbehaving('tools') };

/** What the agent reported in its last text. */
async function reported<T = ToolResult>(machine: AgentMachine, run: Run): Promise<T[]> {
  return JSON.parse((await machine.texts(run)).at(-1) as string) as T[];
}

/** The results of tools that the agent calls in a run. */
async function results(machine: AgentMachine, ...elements: Element[]): Promise<{ run: Run; results: ToolResult[] }> {
  const run = await machine.run(agent, prompt(...elements));
  expect(run).toMatchObject({ status: 'completed', error: null });
  return { run, results: await reported(machine, run) };
}

describe('the tools of a run', () => {
  it('are the same for each run, without those for a case that it does not have', async () => {
    const machine = await AgentMachine.start();
    const run = await machine.run(agent, prompt({ method: 'tools/list' }));
    const [{ tools }] = (await reported<{ tools: { name: string }[] }>(machine, run)) as [{ tools: { name: string }[] }];
    expect(tools.map(({ name }) => name)).toEqual([
      ...['create_case', 'list_memory', 'read_memory', 'remember'],
      ...['create_artifact', 'change_artifact', 'get_artifact'],
    ]);
  });

  it('remember what later runs can read', async () => {
    const machine = await AgentMachine.start();
    const {
      results: [none, written, appended, list, content],
    } = await results(
      machine,
      { name: 'list_memory' },
      { name: 'remember', arguments: { path: 'notes.md', content: 'Acme pays late.' } },
      { name: 'remember', arguments: { path: 'notes.md', content: 'Ask Ada.', append: true } },
      { name: 'list_memory' },
      { name: 'read_memory', arguments: { path: 'notes.md' } },
    );
    expect(none?.structuredContent).toEqual({ files: [] });
    expect(written?.structuredContent).toEqual({ path: 'notes.md', bytes: 15 });
    expect(appended?.structuredContent).toEqual({ path: 'notes.md', bytes: 24 });
    expect(list?.structuredContent).toEqual({ files: [{ path: 'notes.md', bytes: 24 }] });
    expect(content?.content[0]?.text).toBe('Acme pays late.\nAsk Ada.');
  });
});
