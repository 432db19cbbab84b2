/** A data directory that is held still while it is copied. */
export interface HeldDirectory {
  readonly path: string;
  /** The moment that the backup shows, ISO 8601. */
  readonly createdAt: string;
  /** Copies the database file. */
  copyDatabase(to: string): Promise<void>;
  /**
   * Called when everything has been copied that runs would change, and again at the end: until then nothing may have been removed.
   * @throws when something may have been
   */
  keepFilesAlone(): Promise<void>;
  release(): Promise<void>;
}
