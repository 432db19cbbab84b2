/** The remember step: writes a memory file of the agent, in the transaction that completes the step and therefore once. */
import { callEvent, resultEvent } from './calls.ts';
import { text, value } from './rendering/parts.ts';
import type { StepOf } from './schema.ts';
import type { StepOutcome, Turn } from './turn.ts';

export async function remember(step: StepOf<'remember'>, turn: Turn): Promise<StepOutcome> {
  const { payload } = step;
  const append = payload.append === true;
  const json = payload.content === undefined ? value(payload.json) : undefined;
  const values = await turn.render(step, { path: text(payload.path), content: text(payload.content), json });
  const { path, content = asJson(values.json, append) } = values;
  await turn.host.emit([callEvent(step, 'remember', { path, ...(append ? { append } : {}) })]);
  const result = { path, size: Buffer.byteLength(content) };
  return { entry: { result }, events: [resultEvent(step, { result })], remember: { path, content, append } };
}

/** Appended values are written one per line. */
const asJson = (value: unknown, append: boolean): string => `${JSON.stringify(value, null, append ? undefined : 2)}\n`;
