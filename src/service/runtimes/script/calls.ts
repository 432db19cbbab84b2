/** Steps that appear as tool calls: tool, exec, write, screenshot. The call is visible before it is made; its result is committed with the step. */
import path from 'node:path';
import { parseDuration } from '../../../base/duration.ts';
import { ServiceError } from '../../errors.ts';
import type { ExecResult } from '../../sandbox/exec.ts';
import { imageTypeOf } from '../../sandbox/file-kind.ts';
import type { RuntimeEvent } from '../run-host.ts';
import { command, text, value } from './rendering/parts.ts';
import { defaultExec, type Step, type StepKind, type StepOf } from './schema.ts';
import { asStepError, nameOf, type Pause, StepError, type StepOutcome, type Turn } from './turn.ts';

/** The number of bytes that are kept of each output stream of a command. */
const outputLimit = 64 * 1024;
/** The largest screenshot, in bytes. */
const imageLimit = 10 * 1024 * 1024;

/** A tool call that has started, as the journal records it. */
interface ToolCall {
  until: number;
  name: string;
  arguments: Record<string, unknown>;
  result?: unknown;
  error?: string;
}

export async function tool(step: StepOf<'tool'>, turn: Turn): Promise<StepOutcome | Pause> {
  const { payload } = step;
  // Rendered once: a message that arrives while the tool "works" must not change the arguments of the call.
  const call = await turn.computeOnce<ToolCall>(step, 'until', async () => {
    const until = turn.host.clock.now() + (parseDuration(payload.takes ?? '0') ?? 0);
    const outcome = payload.error === undefined ? { result: value(payload.result ?? null) } : { error: text(payload.error) };
    const values = await turn.render(step, { name: text(payload.name), arguments: value(payload.arguments ?? {}), ...outcome });
    return { until, ...values, arguments: values.arguments as Record<string, unknown> };
  });
  await turn.host.emit([callEvent(step, call.name, call.arguments)]);
  if (turn.host.clock.now() < call.until) return { status: 'sleeping', until: call.until };
  if (call.error !== undefined) return { entry: { result: { error: call.error } }, events: [resultEvent(step, { error: call.error })] };
  return { entry: { result: call.result }, events: [resultEvent(step, { result: call.result })] };
}

export async function exec(step: StepOf<'exec'>, turn: Turn): Promise<StepOutcome> {
  const { host } = turn;
  const refusal = host.launcher.refusal();
  if (refusal !== undefined) throw new StepError(`${nameOf(step)} runs a command. ${refusal}`);
  const { run } = await turn.render(step, { run: command(step.payload.run) });
  const timeoutMs = parseDuration(step.payload.timeout ?? '') ?? defaultExec;
  return await calling(step, turn, { name: 'exec', arguments: { command: run.display } }, async () => {
    const result = await host.sandbox.exec(run.text, { launcher: host.launcher, timeoutMs, outputLimit, signal: host.signal });
    const { exitCode, stdout, stderr, timedOut, truncated } = result;
    const output = { exit_code: exitCode, stdout, stderr, timed_out: timedOut, truncated };
    const error = execError(result, timeoutMs);
    // Without the final line breaks, as in $( ) of a shell: they are rarely wanted in a text.
    const entry = { result: { ...output, stdout: stdout.replace(/\n+$/, ''), stderr: stderr.replace(/\n+$/, '') } };
    if (error === undefined) return { entry, events: [resultEvent(step, { result: output })] };
    const events = [resultEvent(step, { result: output, error })];
    if (step.payload.on_error === 'continue') return { entry, events };
    return { entry: { ...entry, ends: { status: 'failed', error: `${nameOf(step)}: ${error}` } }, events };
  });
}

function execError({ exitCode, signal, stderr, timedOut }: ExecResult, timeoutMs: number): string | undefined {
  if (timedOut) return `the command was terminated because it ran longer than ${timeoutMs / 1_000} seconds.`;
  if (exitCode === 0) return undefined;
  const last = stderr.trimEnd().split('\n').at(-1)?.trim();
  const reason = exitCode === null ? `was terminated by ${signal}` : `failed with exit code ${exitCode}`;
  return last ? `the command ${reason}: ${last}` : `the command ${reason}.`;
}

export async function write(step: StepOf<'write'>, turn: Turn): Promise<StepOutcome> {
  const { payload } = step;
  const json = payload.content === undefined ? value(payload.json) : undefined;
  const values = await turn.render(step, { path: text(payload.path), content: text(payload.content), json });
  const content = values.content ?? `${JSON.stringify(values.json, null, 2)}\n`;
  return await calling(step, turn, { name: 'write_file', arguments: { path: values.path } }, async () => {
    const result = await turn.host.sandbox.write(values.path, Buffer.from(content));
    return { entry: { result }, events: [resultEvent(step, { result })] };
  });
}

export async function screenshot(step: StepOf<'screenshot'>, turn: Turn): Promise<StepOutcome> {
  const { host } = turn;
  const { payload } = step;
  const { source, action, title, url } = await turn.render(step, {
    source: text(payload.path),
    action: text(payload.action),
    title: text(payload.title),
    url: text(payload.url),
  });
  const input = { path: source, ...(title === undefined ? {} : { title }), ...(url === undefined ? {} : { url }) };
  const startedAt = new Date(host.clock.now());
  return await calling(
    step,
    turn,
    { name: 'screenshot', arguments: { ...input, ...(action === undefined ? {} : { action }) } },
    async () => {
      const { entry, bytes, truncated } = await host.sandbox.read(source, imageLimit);
      if (truncated) throw new ServiceError(413, 'file_too_large', `The image ${entry.path} is larger than 10 MiB.`);
      const mimeType = imageTypeOf(bytes);
      if (mimeType === null) throw new ServiceError(400, 'not_a_picture', `${entry.path} is not a PNG, JPEG, or WebP image.`);
      const result = { path: entry.path, mime_type: mimeType, size: bytes.length };
      const image = { name: path.posix.basename(entry.path), mimeType, bytes };
      const screenshot: RuntimeEvent = {
        kind: 'screenshot',
        id: `${step.key}:image`,
        toolName: 'screenshot',
        ...(action === undefined ? {} : { action }),
        startedAt,
        input,
        image,
      };
      return { entry: { result }, events: [{ ...resultEvent(step, { result }), screenshot: screenshot.id }, screenshot] };
    },
  );
}

/** Reports a call, makes it, and reports the error if the procedure is at fault. */
export async function calling(
  step: Step,
  turn: Turn,
  call: { name: string; arguments: Record<string, unknown> },
  make: () => Promise<StepOutcome>,
): Promise<StepOutcome> {
  await turn.host.emit([callEvent(step, call.name, call.arguments)]);
  try {
    return await make();
  } catch (reason) {
    const error = asStepError(step, reason);
    if (!(error instanceof StepError)) throw error;
    return failedCall(step, error.message);
  }
}

/** A call that fails the run. */
export const failedCall = (step: StepOf<StepKind>, error: string): StepOutcome => ({
  entry: { ends: { status: 'failed', error } },
  events: [resultEvent(step, { error })],
});

export const callEvent = (step: StepOf<StepKind>, name: string, args: Record<string, unknown>): RuntimeEvent => ({
  kind: 'tool_call',
  id: `${step.key}:call`,
  name,
  arguments: args,
});

export const resultEvent = (step: StepOf<StepKind>, outcome: { result?: unknown; error?: string }) => ({
  kind: 'tool_result' as const,
  id: `${step.key}:result`,
  callId: `${step.key}:call`,
  ...outcome,
});
