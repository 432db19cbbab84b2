import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterTest } from '../support/temporary.ts';

/** A fresh folder, removed after the test. */
export function tempFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'aops-config-'));
  afterTest(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
