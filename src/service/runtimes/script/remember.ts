/** The remember step: writes a memory file of the agent. The file is written in the transaction that completes the step, so once. */
import { callEvent, resultEvent } from './calls.ts';
import type { StepOf } from './schema.ts';
import { render, renderDeep } from './template.ts';
import type { Done, Turn } from './turn.ts';

export async function remember(step: StepOf<'remember'>, turn: Turn): Promise<Done> {
  const { payload } = step;
  const append = payload.append === true;
  const path = render(payload.path, turn.scope);
  const content =
    payload.content === undefined ? asJson(renderDeep(payload.json, turn.scope), append) : render(payload.content, turn.scope);
  await turn.host.emit([callEvent(step, 'remember', { path, ...(append ? { append } : {}) })]);
  const result = { path, bytes: Buffer.byteLength(content) };
  return { entry: { result }, events: [resultEvent(step, { result })], remember: { path, content, append } };
}

/** One value a line where values are appended. */
const asJson = (value: unknown, append: boolean): string => `${JSON.stringify(value, null, append ? undefined : 2)}\n`;
