/** The signed URLs of screenshots, which expire while many pictures are downloaded, perhaps more than once. */
import { isExpired } from '../../client/transfers/download.ts';
import type { ScreenshotToolExecution } from '../../interface/types.ts';
import type { moments, Shot } from './shots.ts';

export type PictureKey = (typeof moments)[number][1];

type Timeline = ReadonlyMap<string, ScreenshotToolExecution>;

export class PictureUrls {
  readonly #readTimeline: () => Promise<readonly ScreenshotToolExecution[]>;
  /** The timeline as it was read last, by the IDs of its executions; undefined until it is read again. */
  #timeline: Promise<Timeline> | undefined;

  /** @param readTimeline reads the timeline again */
  constructor(readTimeline: () => Promise<readonly ScreenshotToolExecution[]>) {
    this.#readTimeline = readTimeline;
  }

  /**
   * Downloads a picture, and again from a new URL if its URL has expired.
   * @param fetch throws what `download` throws
   * @returns undefined if the service no longer has the picture
   */
  async download<Result>(shot: Shot, key: PictureKey, fetch: (url: string) => Promise<Result>): Promise<Result | undefined> {
    const timeline = this.#timeline;
    try {
      return await this.#fetchNewest(shot, key, fetch);
    } catch (error) {
      if (!isExpired(error)) throw error;
    }
    // Pictures that fail at the same time share a timeline.
    if (this.#timeline === timeline) this.#timeline = this.#readTimeline().then(byExecution);
    return this.#fetchNewest(shot, key, fetch);
  }

  async #fetchNewest<Result>(shot: Shot, key: PictureKey, fetch: (url: string) => Promise<Result>): Promise<Result | undefined> {
    const execution = this.#timeline === undefined ? shot : (await this.#timeline).get(shot.executionId);
    const url = execution?.[key]?.signedUrl;
    return url === undefined ? undefined : fetch(url);
  }
}

const byExecution = (executions: readonly ScreenshotToolExecution[]): Timeline =>
  new Map(executions.map((execution) => [execution.executionId, execution]));
