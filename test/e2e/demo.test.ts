import { spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../support/temporary.ts';

const demo = fileURLToPath(new URL('../../examples/invoice-check/demo.js', import.meta.url));

it('does the main job without a person, shows what the run wrote, and leaves nothing behind', async () => {
  const folder = await temporaryFolder();
  const child = spawn(process.execPath, [demo], { env: { ...process.env, TMPDIR: folder, CI: 'true' }, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk) => {
    stderr += chunk;
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect(stderr).toContain('$ aops local down');
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('# Invoices of the day') });
  expect(stdout).toContain('Stopped the local service');
  expect(await readdir(folder)).toEqual([]);
});
