/** The screenshots of a run as people read them: numbered, with what was done in words. */
import { formatDuration } from '../../base/duration.ts';
import type { ScreenshotToolExecution } from '../../interface/types.ts';

/** A tool execution with its place in the timeline, counted from 1; pictures are saved under it. */
export type Shot = { number: number } & ScreenshotToolExecution;

export const moments = [
  ['before', 'beforeScreenshot'],
  ['after', 'afterScreenshot'],
] as const;

export const numbered = (executions: readonly ScreenshotToolExecution[]): Shot[] =>
  executions.map((execution, index) => ({ number: index + 1, ...execution }));

/** What tells most about an action, of what it may have been given. */
const telling = ['caption', 'selector', 'key', 'for', 'address', 'name', 'text', 'path'];

/** `click #pay`: the action, and what it was done to where that is known. */
export function actionText({ toolName, action, input }: ScreenshotToolExecution): string {
  const object = telling.map((key) => input?.[key]).find((value) => typeof value === 'string' && value !== '');
  return [action ?? toolName, ...(typeof object === 'string' ? [object] : [])].join(' ');
}

/** The page that it left. */
export function pageOf({ input }: ScreenshotToolExecution): { url: string | undefined; title: string | undefined } {
  const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
  return { url: text(input?.url), title: text(input?.title) };
}

/** What it failed with, where the service tells. */
export const errorOf = ({ error }: ScreenshotToolExecution): string | undefined =>
  typeof error === 'string' && error !== '' ? error : undefined;

/** How long it took; undefined where that is not known. */
export function durationOf({ startedAt, endedAt }: Pick<ScreenshotToolExecution, 'startedAt' | 'endedAt'>): string | undefined {
  const milliseconds = Date.parse(endedAt ?? '') - Date.parse(startedAt ?? '');
  return Number.isFinite(milliseconds) && milliseconds >= 0 ? formatDuration(milliseconds) : undefined;
}
