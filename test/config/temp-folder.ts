import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach } from 'vitest';

const made: string[] = [];
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A fresh folder, removed after the test. */
export function tempFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'aops-config-'));
  made.push(folder);
  return folder;
}
