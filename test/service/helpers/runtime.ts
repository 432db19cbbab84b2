import { ServiceError } from '../../../src/service/errors.ts';
import type { Outcome, RunHost } from '../../../src/service/runtimes/run-host.ts';
import type { Runtime } from '../../../src/service/runtimes/runtime.ts';

export type Behaviour = (host: RunHost) => Promise<Outcome>;

/** A runtime whose procedures are words that name functions of the test. */
export function testRuntime(behaviours: Record<string, Behaviour>): Runtime {
  return {
    name: 'test',
    validate(procedure) {
      if (Object.hasOwn(behaviours, procedure.trim())) return;
      throw new ServiceError(400, 'invalid_procedure', 'Unknown word.', { details: [{ message: 'unknown word', line: 1, column: 1 }] });
    },
    advance: (host) => (behaviours[host.procedure.trim()] as Behaviour)(host),
    countSteps: () => 2,
  };
}

/** Something that a test waits for or holds back. */
export class Gate {
  open!: () => void;
  readonly opened = new Promise<void>((resolve) => {
    this.open = resolve;
  });
}

/** Runs a step once, however often the runtime is called. */
export async function runOnce(host: RunHost, step: string, work: () => Promise<unknown> = async () => null): Promise<void> {
  if (!host.journal.has(step)) await host.commit(step, await work());
}
