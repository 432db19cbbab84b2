/** Renders templates in a thread of its own, where they hold nobody up: the other end of `pool.ts`. It is bundled as a file of its own. */
import { parentPort } from 'node:worker_threads';
import { memoryScope } from '../memory-scope.ts';
import { TemplateError } from '../template.ts';
import type { Asked, Told } from './messages.ts';
import { renderParts } from './parts.ts';
import { sizeOf } from './size.ts';

/** Characters that the templates of a step may give together. */
const mostCharacters = 16_000_000;

function rendered({ parts, scope, memory }: Asked): Told {
  try {
    const values = renderParts(parts, { ...scope, memory: memoryScope(memory) });
    if (sizeOf(values, mostCharacters) > mostCharacters)
      return problem(`its templates give more than ${mostCharacters / 1_000_000} million characters`);
    return { values };
  } catch (error) {
    if (error instanceof TemplateError) return { problem: error.message, position: error.position };
    return problem(error instanceof Error ? error.message : String(error));
  }
}

const problem = (words: string): Told => ({ problem: words, position: { line: 1, column: 1 } });

parentPort?.on('message', (asked: Asked) => {
  const told = rendered(asked);
  try {
    parentPort?.postMessage(told);
  } catch (error) {
    parentPort?.postMessage(problem(`a value cannot be used: ${error instanceof Error ? error.message : String(error)}`));
  }
});
// Time is measured from here on: a busy machine takes its time to start a thread.
parentPort?.postMessage('ready');
