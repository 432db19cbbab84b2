/** What the service has acknowledged: each success is written down, and compared with the state of the service at the end. */
import { appendFileSync } from 'node:fs';

/** A change that the service has confirmed. */
export type Acknowledged =
  | { kind: 'run'; item: number; run: string; number: number }
  | { kind: 'message'; run: string; text: string }
  | { kind: 'answer'; run: string; request: string; response: string }
  | { kind: 'case'; item: number; case: string }
  | { kind: 'schedule'; schedule: string };

export class Ledger {
  readonly entries: Acknowledged[] = [];
  readonly #file: string;

  /** @param file where the entries are appended, as lines of JSON */
  constructor(file: string) {
    this.#file = file;
  }

  add(entry: Acknowledged): void {
    appendFileSync(this.#file, `${JSON.stringify(entry)}\n`);
    this.entries.push(entry);
  }
}
