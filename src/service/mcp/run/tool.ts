/** A tool for the agent of a run, and how it changes something. */
import { createHash } from 'node:crypto';
import type { TObject } from 'typebox';
import type { Clock } from '../../../base/clock.ts';
import { isObject, shorten } from '../../../base/values.ts';
import { RunLostError } from '../../engine/runs/run-record.ts';
import { ServiceError } from '../../errors.ts';
import type { RunHost, ToolAction } from '../../runtimes/run-host.ts';
import { type RunToken, runEnded } from '../../runtimes/run-tokens.ts';
import type { AnyTool } from '../tool.ts';

/** What a tool can use. */
export interface RunToolCall {
  readonly token: RunToken;
  readonly clock: Clock;
}

export interface RunTool<Input extends TObject = TObject> extends AnyTool<RunToolCall, Input> {
  /** Whether it is only for runs that work on a case. */
  readonly needsCase?: true;
}

/** Infers the type of a tool's arguments from its input schema. */
export const defineRunTool = <const Input extends TObject>(tool: RunTool<Input>): RunTool => tool as unknown as RunTool;

/** How many changes the agent of a run can make in a turn: as many as a procedure has steps. */
export const maxChanges = 1_000;
const maxQuoteLength = 200;

/** A text of the agent in a notice. */
export const onOneLine = (text: string): string => shorten(text.replaceAll(/\s+/g, ' ').trim(), maxQuoteLength);

/** A name or title in a notice. */
export const quoted = (text: string): string => `"${onOneLine(text)}"`;

/** Reads something of the run. */
export const read = <T>({ token }: RunToolCall, work: (host: RunHost) => Promise<T>): Promise<T> => token.use((host) => fenced(host, work));

/** A change as a tool requests it. */
export interface Change {
  tool: string;
  args: Readonly<Record<string, unknown>>;
  action: ToolAction;
  /** What people read about it in the transcript. */
  notice: string;
}

/**
 * Changes something, and journals it. A call that an earlier process of the turn has made is not repeated: that process may have ended before
 * the agent got the result, and the agent was asked to continue. Its result is returned once.
 */
export const change = ({ token }: RunToolCall, { tool, args, action, notice }: Change): Promise<Record<string, unknown>> =>
  token.use((host) =>
    fenced(host, async () => {
      const fingerprint = createHash('sha256').update(stableJson({ tool, args })).digest('hex');
      const uses = [...storedUses(host)];
      const earlier = uses.find(
        ({ step, use }) => use.fingerprint === fingerprint && use.process !== token.process && !host.journal.has(repeatedKey(step)),
      );
      if (earlier !== undefined) {
        await host.commit(repeatedKey(earlier.step), token.process);
        return earlier.use.result;
      }
      if (uses.length >= maxChanges)
        throw new ServiceError(409, 'too_many_changes', `The tools of a run can change at most ${maxChanges} things in a turn.`);
      return await host.tools.perform(`tool-${uses.length + 1}`, { tool, fingerprint, process: token.process }, action, notice);
    }),
  );

/** A change as the journal contains it. */
interface StoredUse {
  fingerprint: string;
  process: string;
  result: Record<string, unknown>;
}

const stepPattern = /^tool-\d+$/;
const repeatedKey = (step: string): string => `${step}:repeated`;

function* storedUses({ journal }: RunHost): Generator<{ step: string; use: StoredUse }> {
  for (const [step, value] of journal) if (stepPattern.test(step)) yield { step, use: value as StoredUse };
}

/** JSON with sorted keys, so that equal values are equal texts. */
const stableJson = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  );

/** A run that was stopped can no longer be changed, which is not a failure of the service. */
async function fenced<T>(host: RunHost, work: (host: RunHost) => Promise<T>): Promise<T> {
  try {
    return await work(host);
  } catch (error) {
    throw error instanceof RunLostError ? runEnded() : error;
  }
}
