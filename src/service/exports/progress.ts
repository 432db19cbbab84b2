/** How far an export or import has come, for people who wait for it. */

export interface FileCounts {
  /** Files of runs. */
  files: number;
  sandboxes: number;
  /** Of both. */
  bytes: number;
}

export class MoveProgress implements FileCounts {
  /** The table that is being worked on; empty for files. */
  current = '';
  rows = 0;
  files = 0;
  sandboxes = 0;
  bytes = 0;
  readonly #onChange: () => void;

  /** @param onChange called often; whatever it throws ends the work */
  constructor(onChange: () => void = () => undefined) {
    this.#onChange = onChange;
  }

  /** Begins with the next table, of which some rows are complete already. */
  enter(current: string, completeRows = 0): void {
    this.current = current;
    this.advance(completeRows);
  }

  advance(rows: number): void {
    this.rows += rows;
    this.#onChange();
  }

  /** Begins with the files, of which some are complete already. */
  enterFiles(complete: FileCounts = { files: 0, sandboxes: 0, bytes: 0 }): void {
    Object.assign(this, complete, { current: '' });
    this.#onChange();
  }

  add(kind: 'files' | 'sandboxes', bytes: number): void {
    this[kind] += 1;
    this.bytes += bytes;
    this.#onChange();
  }
}
