/** The screenshots of a run for people: numbered, and with their actions in words. */
import { formatDuration } from '../../base/duration.ts';
import type { ScreenshotToolExecution } from '../../interface/types.ts';

/** A tool execution with its number in the timeline, starting at 1, which is also part of the file names of its pictures. */
export type Shot = { number: number } & ScreenshotToolExecution;

export const moments = [
  ['before', 'beforeScreenshot'],
  ['after', 'afterScreenshot'],
] as const;

export const numberShots = (executions: readonly ScreenshotToolExecution[]): Shot[] =>
  executions.map((execution, index) => ({ number: index + 1, ...execution }));

/** The inputs that best describe an action, most descriptive first. */
const descriptiveInputs = ['caption', 'selector', 'key', 'for', 'address', 'name', 'text', 'path'];

/** `click #pay`: the action and, if known, its object. */
export function actionText({ toolName, action, input }: ScreenshotToolExecution): string {
  const object = descriptiveInputs.map((key) => input?.[key]).find((value) => typeof value === 'string' && value !== '');
  return [action ?? toolName, ...(typeof object === 'string' ? [object] : [])].join(' ');
}

/** The page after the action. */
export function pageOf({ input }: ScreenshotToolExecution): { url: string | undefined; title: string | undefined } {
  const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
  return { url: text(input?.url), title: text(input?.title) };
}

/** The error of the action, if the service reports it. */
export const errorOf = ({ error }: ScreenshotToolExecution): string | undefined =>
  typeof error === 'string' && error !== '' ? error : undefined;

/** How long the action took; undefined if unknown. */
export function durationOf({ startedAt, endedAt }: Pick<ScreenshotToolExecution, 'startedAt' | 'endedAt'>): string | undefined {
  const milliseconds = Date.parse(endedAt ?? '') - Date.parse(startedAt ?? '');
  return Number.isFinite(milliseconds) && milliseconds >= 0 ? formatDuration(milliseconds) : undefined;
}
