/** The tool step that makes a real call: to a tool of one of the team's connections. */
import { parseDuration } from '../../../base/duration.ts';
import { ServiceError } from '../../errors.ts';
import type { ConnectionAnswer, RunConnection } from '../run-host.ts';
import type { NamedConnection } from '../runtime.ts';
import { callEvent, resultEvent } from './calls.ts';
import { text as textPart, value } from './rendering/parts.ts';
import { defaultTool, type Procedure, type StepOf } from './schema.ts';
import { nameOf, type StepOutcome, type Turn } from './turn.ts';

interface Call {
  connection: string;
  tool: string;
  arguments: Record<string, unknown>;
}

export async function connectedTool(step: StepOf<'tool'>, turn: Turn): Promise<StepOutcome> {
  const { payload } = step;
  const { host } = turn;
  // Rendered once: a call that is repeated after a crash stays the same, whatever messages have arrived since.
  const call = await turn.computeOnce<Call>(step, 'until', async () => {
    const values = await turn.render(step, {
      connection: textPart(payload.connection as string),
      tool: textPart(payload.name),
      arguments: value(payload.arguments ?? {}),
    });
    return { ...values, arguments: values.arguments as Record<string, unknown> };
  });
  const connection = await openConnection(turn, call.connection);
  await host.emit([callEvent(step, `${connection.name}.${call.tool}`, call.arguments)]);
  const timeoutMs = parseDuration(payload.timeout ?? '') ?? defaultTool;
  const { content, structured, text, error } = await connection.call(call.tool, call.arguments, { timeoutMs, signal: host.signal });
  const entry = { result: { structured, text, content, error } };
  const visible = { content, ...(structured === null ? {} : { structuredContent: structured }) };
  if (error === null) return { entry, events: [resultEvent(step, { result: visible })] };
  const events = [resultEvent(step, { ...(content.length > 0 ? { result: visible } : {}), error })];
  if (payload.on_error === 'continue') return { entry, events };
  return { entry: { ...entry, ends: { status: 'failed', error: `${nameOf(step)}: ${sentence(error)}` } }, events };
}

/** The connections that the steps name, each once, without names from templates, which only the run knows. */
export function connectionsOf({ steps }: Procedure): NamedConnection[] {
  const connections = new Map<string, NamedConnection>();
  for (const { kind, payload, condition } of steps) {
    if (kind !== 'tool' || payload.connection === undefined || payload.connection.includes('{')) continue;
    const { connection: name, on_error: onError } = payload;
    const isNeeded = condition === undefined && onError !== 'continue';
    connections.set(name, { name, needed: isNeeded || (connections.get(name)?.needed ?? false) });
  }
  return [...connections.values()];
}

/** The connection, or a substitute that reports that it does not exist: `on_error` covers that as well. */
async function openConnection({ host }: Turn, word: string): Promise<RunConnection> {
  try {
    return await host.connections.open(word);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const answer: ConnectionAnswer = { content: [], structured: null, text: '', error: error.message };
    return { name: word, call: async () => answer };
  }
}

const sentence = (words: string): string => (/[.!?]$/.test(words) ? words : `${words}.`);
