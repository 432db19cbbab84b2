/** The misbehaving agent as a client of the tools of its run. */
import { readFile } from 'node:fs/promises';
import { expect } from 'vitest';
import type { Run } from '../../../src/interface/types.ts';
import { misbehaving } from '../../agents/installed.ts';
import { eventually } from '../../support/eventually.ts';
import type { AgentMachine } from './agent-machine.ts';
import type { Answer } from './service.ts';

/** What the agent does in its turn, in this order; see the mode `tools` of the misbehaving agent. */
export type Element = Record<string, unknown>;

export interface ToolResult {
  isError?: boolean;
  content: { text: string }[];
  structuredContent: Record<string, unknown>;
}

export const toolAgent = { command: misbehaving('tools') };

export const promptOf = (elements: readonly Element[]): string => JSON.stringify(elements);

export const tool = (name: string, args: Record<string, unknown> = {}): Element => ({ name, arguments: args });

/** What the agent reported in its last text, for each element. */
export async function reports<T = ToolResult>(machine: AgentMachine, run: Run): Promise<T[]> {
  return JSON.parse((await machine.texts(run)).at(-1) as string) as T[];
}

/** Lets the agent do something in a run, and returns its results. */
export async function resultsOf(machine: AgentMachine, ...elements: Element[]): Promise<{ run: Run; results: ToolResult[] }> {
  const run = await machine.run(toolAgent, promptOf(elements));
  expect(run).toMatchObject({ status: 'completed', error: null });
  return { run, results: await reports(machine, run) };
}

/** A run whose agent is working and has revealed its token. */
export async function leakedToken(machine: AgentMachine, ...then: Element[]): Promise<{ run: Run; token: string; url: string }> {
  const run = await machine.begin(toolAgent, promptOf([{ servers: true }, ...then]));
  let text = '';
  await eventually('the token', async () => {
    text = await readFile(machine.file(run, 'servers.json'), 'utf8').catch(() => '');
    return text !== '';
  });
  const [{ url, headers }] = JSON.parse(text) as [{ url: string; headers: { name: string; value: string }[] }];
  return { run, url, token: headers.find(({ name }) => name === 'Authorization')?.value.replace('Bearer ', '') as string };
}

/** Calls a tool with a token, as whoever has found it would. */
export const callTool = (
  machine: AgentMachine,
  token: string,
  { name, arguments: args }: Element,
  headers: Record<string, string> = {},
): Promise<Answer> =>
  machine.api.as(token).send('POST', '/v2/mcp', {
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  });
