/** What the wire formats of model providers have in common: conversations, replies, and the tools that agents offer to the model. */

/** One entry of a conversation, oldest first. */
export type Entry = { from: 'person' | 'tool'; text: string } | { from: 'model' };

/** A request for the next turn of the model. */
export interface ModelRequest {
  model: string;
  /** The names of the tools that the agent offers. */
  tools: readonly string[];
  entries: readonly Entry[];
  stream: boolean;
}

/** The model's turn. */
export type Reply = {
  /** A number that no other reply of the server has: agents merge messages with the same ID. */
  id: number;
} & (
  | { text: string }
  | {
      tool: string;
      /** An object, or text for a tool that accepts free text. */
      arguments: Record<string, unknown> | string;
    }
);

/** How a provider encodes requests and replies. */
export interface WireFormat {
  /** Whether a POST request to this path asks for a turn. */
  matches(path: string): boolean;
  read(body: never, path: string): ModelRequest;
  /** The body of a reply without streaming. */
  write(reply: Reply, model: string): unknown;
  /** The events of a streamed reply, as pairs of the event's name (empty for none) and its data. */
  stream(reply: Reply, model: string): [name: string, data: unknown][];
}

/** Reported by each reply, so that tests know what to expect. */
export const usage = { input: 100, output: 20 };

/** The text of content that is a string, or a list of parts. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: { text?: unknown }) => (typeof part.text === 'string' ? part.text : '')).join('');
}

/** The arguments as JSON text. */
export const jsonOf = (value: Record<string, unknown> | string): string => (typeof value === 'string' ? value : JSON.stringify(value));
