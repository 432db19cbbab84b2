/** Downloads the pictures of a film strip in order, a few ahead of the one that is being written. */

import { sharedSignal } from '../../../base/abort.ts';
import { AopsError } from '../../../base/errors.ts';
import type { Client } from '../../../client/client.ts';
import { download, isExpired } from '../../../client/transfers/download.ts';
import type { ScreenshotToolExecution } from '../../../interface/types.ts';
import { type PictureKey, PictureUrls } from '../picture-urls.ts';
import { moments, type Shot } from '../shots.ts';

/** A picture that a page can display, or the reason why it is missing. */
export type Picture = { mimeType: string; bytes: Buffer; width?: number; height?: number } | { missing: string };

/** A shot with its pictures; `same` means that the pictures before and after are identical. */
export interface Frame {
  shot: Shot;
  before: Picture | undefined;
  after: Picture | undefined;
  isSame: boolean;
}

/** The number of shots to download ahead and the maximum size of a picture in bytes, which limit the memory. */
const framesAhead = 3;
const maxPictureBytes = 32 * 1024 * 1024;

/** @param renewTimeline reads the timeline again, after its URLs have expired */
export async function* frames(
  client: Client,
  shots: readonly Shot[],
  renewTimeline: () => Promise<readonly ScreenshotToolExecution[]>,
  signal: AbortSignal,
): AsyncGenerator<Frame, void, undefined> {
  // Cancels the downloads ahead if the caller stops reading.
  const endController = new AbortController();
  const reader = new Reader(client, renewTimeline, sharedSignal(signal, endController.signal));
  const pendingFrames: Promise<Frame>[] = [];
  try {
    for (const shot of shots) {
      const frame = reader.frame(shot);
      // Its error is handled when it is awaited below.
      frame.catch(() => undefined);
      pendingFrames.push(frame);
      if (pendingFrames.length > framesAhead) yield await (pendingFrames.shift() as Promise<Frame>);
    }
    for (const frame of pendingFrames) yield await frame;
  } finally {
    endController.abort();
  }
}

class Reader {
  readonly #client: Client;
  readonly #signal: AbortSignal;
  readonly #urls: PictureUrls;
  /** By URL: the last picture of a shot is often the first picture of the next. */
  readonly #recentPictures = new Map<string, Promise<Picture>>();

  constructor(client: Client, renewTimeline: () => Promise<readonly ScreenshotToolExecution[]>, signal: AbortSignal) {
    this.#client = client;
    this.#urls = new PictureUrls(renewTimeline);
    this.#signal = signal;
  }

  async frame(shot: Shot): Promise<Frame> {
    const [before, after] = await Promise.all(moments.map(([, key]) => this.#picture(shot, key)));
    const same = before !== undefined && after !== undefined && 'bytes' in before && 'bytes' in after && before.bytes.equals(after.bytes);
    return { shot, before, after, isSame: same };
  }

  #picture(shot: Shot, key: PictureKey): Promise<Picture> | undefined {
    const url = shot[key]?.signedUrl;
    if (url === undefined) return undefined;
    const existing = this.#recentPictures.get(url);
    if (existing !== undefined) return existing;
    const picture = this.#fetch(shot, key);
    picture.catch(() => undefined);
    this.#recentPictures.set(url, picture);
    const [oldest] = this.#recentPictures.keys();
    if (this.#recentPictures.size > 2 * framesAhead && oldest !== undefined) this.#recentPictures.delete(oldest);
    return picture;
  }

  async #fetch(shot: Shot, key: PictureKey): Promise<Picture> {
    try {
      const picture = await this.#urls.download(shot, key, (url) => this.#downloadPicture(url));
      return picture ?? { missing: 'the service no longer has it' };
    } catch (error) {
      return missingOrThrow(error);
    }
  }

  async #downloadPicture(url: string): Promise<Picture> {
    let chunks: Uint8Array[] = [];
    let size = 0;
    const restart = async (): Promise<void> => {
      chunks = [];
      size = 0;
    };
    for await (const chunk of download(this.#client, url, { signal: this.#signal, restart })) {
      size += chunk.length;
      if (size > maxPictureBytes) return { missing: 'it is larger than 32 MiB' };
      chunks.push(chunk);
    }
    return asPicture(Buffer.concat(chunks));
  }
}

/** A picture that the service does not provide is marked as missing; other failures end the command. */
function missingOrThrow(error: unknown): Picture {
  if (error instanceof AopsError && (error.details.status === 404 || isExpired(error)))
    return { missing: `the service responded with status ${error.details.status}` };
  throw error;
}

/** Detects the format from the bytes, regardless of the content type: a page must contain only pictures. */
export function asPicture(bytes: Buffer): Picture {
  const head = bytes.subarray(0, 16).toString('latin1');
  if (head.startsWith('\x89PNG\r\n\x1a\n') && bytes.length >= 24)
    return { mimeType: 'image/png', bytes, width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
  if (head.startsWith('\xff\xd8\xff')) return { mimeType: 'image/jpeg', bytes };
  if (head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP') return { mimeType: 'image/webp', bytes };
  if (/^GIF8[79]a/.test(head)) return { mimeType: 'image/gif', bytes };
  if (head.slice(4, 12) === 'ftypavif') return { mimeType: 'image/avif', bytes };
  return { missing: 'it is not a picture' };
}
