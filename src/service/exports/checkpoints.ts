/** Decides when the progress of an export is saved: after so many bytes that writing them again would take a while. */
import type { ExportFolder, ExportProgress } from './export-folder.ts';

export class Checkpoints {
  readonly #folder: ExportFolder;
  readonly #interval: number;
  #unsavedBytes = 0;

  /** @param interval bytes */
  constructor(folder: ExportFolder, interval: number) {
    this.#folder = folder;
    this.#interval = interval;
  }

  get isDue(): boolean {
    return this.#unsavedBytes >= this.#interval;
  }

  add(bytes: number): void {
    this.#unsavedBytes += bytes;
  }

  async saveIfDue(progress: ExportProgress): Promise<void> {
    if (!this.isDue) return;
    await this.#folder.save(progress);
    this.#unsavedBytes = 0;
  }
}
