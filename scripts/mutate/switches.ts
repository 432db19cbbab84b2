/** Runs before each test file: the switches of the mutants, and which of them the file reaches. */
import { appendFileSync } from 'node:fs';
import { afterAll, expect, inject } from 'vitest';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The mutant that is active; -1 for none. */
    mutant: number;
    /** The file that takes down what was reached; empty for none. */
    reached: string;
  }
}

const active = inject('mutant');
const file = inject('reached');
const reached = new Set<number>();

(globalThis as { __aopsMutant?: (number: number) => boolean }).__aopsMutant = (number) => {
  reached.add(number);
  return number === active;
};

afterAll(() => {
  if (file !== '') appendFileSync(file, `${JSON.stringify({ test: expect.getState().testPath, mutants: [...reached] })}\n`);
});
