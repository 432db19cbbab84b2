/** Long output goes through the user's pager, as in git and gh: only on a terminal, and only when it does not fit. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Terminal } from './streams.ts';
import { resolveMarkup } from './style.ts';

/**
 * Shows text in the pager and resolves when the user has quit it; resolves to false when the text should be written directly.
 * @param pager a shell command; undefined, empty or `cat` mean no pager
 */
export async function page(terminal: Terminal, text: string, pager: string | undefined): Promise<boolean> {
  const rows = (terminal.out.stream as { rows?: number }).rows ?? Number.POSITIVE_INFINITY;
  const fitsScreen = text.split('\n').length <= rows;
  if (fitsScreen || !pager || pager === 'cat' || !terminal.out.isTTY || !terminal.in.isTTY || terminal.ci) return false;
  const env = { ...terminal.env, LESS: terminal.env.LESS ?? 'FRX', LV: terminal.env.LV ?? '-c' };
  const child = spawn('/bin/sh', ['-c', pager], { stdio: ['pipe', 'inherit', 'inherit'], env });
  const closing = once(child, 'close');
  // A pager that is quit early does not read to the end.
  child.stdin.on('error', () => undefined);
  child.stdin.end(resolveMarkup(text));
  const [code] = (await closing) as [number | null];
  // 126 and 127: the shell could not run it, and nothing was shown.
  return code !== 126 && code !== 127;
}
