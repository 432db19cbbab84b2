/** A data directory that is held still while it is copied. */
export interface HeldDirectory {
  readonly path: string;
  /** The moment whose state is copied, ISO 8601. */
  readonly createdAt: string;
  /** Copies the database file. */
  copyDatabase(to: string): Promise<void>;
  /**
   * Called when everything that runs would change has been copied, and again at the end. Until then nothing may have been removed.
   * @throws if something may have been removed
   */
  keepFilesAlone(): Promise<void>;
  release(): Promise<void>;
}
