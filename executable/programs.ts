/**
 * The small programs that the service starts with Node inside sandboxes: the executable runs them itself, because there might be no
 * Node on the machine.
 */
import process from 'node:process';
import { Script } from 'node:vm';

/** Runs the program that the arguments of Node would start; false if these are arguments of aops. */
export function runProgramFile(args: readonly string[], load: (name: string) => unknown): boolean {
  const [first = '', second = ''] = args;
  if (first === '-e') {
    // As with Node, the arguments of the program follow the executable.
    process.argv.splice(1, 3);
    const run = new Script(`(function (require) {${second}\n})`, { filename: '[eval]' }).runInThisContext() as (require: unknown) => void;
    run(load);
    return true;
  }
  if (!/^\/run\/aops\/bridge\.js$/.test(first)) return false;
  process.argv.splice(1, 1);
  load('./contained-bridge.js');
  return true;
}
