/**
 * Takes the place of `embedded.ts` while the executable is built: reads the parts from the folder of the program, and stores the code
 * that V8 has compiled until the process ends. Only functions that were called are compiled by then, so several commands are run,
 * each with the code of those before it.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import type { Script } from 'node:vm';

export const script = process.argv[1] as string;

const folder = path.dirname(script);
const codeFile = (name: string): string => path.join(folder, 'recorded', name);

export const embedded = (name: string): Buffer => readFileSync(path.join(folder, name));

export const codeOf = (name: string): Buffer | undefined => (existsSync(codeFile(name)) ? readFileSync(codeFile(name)) : undefined);

export function onLoaded(name: string, script: Script): void {
  process.on('exit', () => writeFileSync(codeFile(name), script.createCachedData()));
}
