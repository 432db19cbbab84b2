/** Renders templates in a separate thread, where they do not block the service: the other end of `pool.ts`. Bundled as a separate file. */
import { parentPort } from 'node:worker_threads';
import { messageOf } from '../../../../base/errors.ts';
import { TemplateError } from '../../../../base/liquid.ts';
import { memoryScope } from '../memory-scope.ts';
import type { RenderRequest, RenderResponse } from './messages.ts';
import { renderParts } from './parts.ts';
import { sizeOf } from './size.ts';

/** The maximum number of characters that the templates of a step can produce together. */
const maxCharacters = 16_000_000;

function renderResponse({ parts, scope, memory }: RenderRequest): RenderResponse {
  try {
    const values = renderParts(parts, { ...scope, memory: memoryScope(memory) });
    if (sizeOf(values, maxCharacters) > maxCharacters)
      return problem(`its templates produce more than ${maxCharacters / 1_000_000} million characters`);
    return { values };
  } catch (error) {
    if (error instanceof TemplateError) return { problem: error.message, position: error.position };
    return problem(messageOf(error));
  }
}

const problem = (words: string): RenderResponse => ({ problem: words, position: { line: 1, column: 1 } });

parentPort?.on('message', (request: RenderRequest) => {
  const response = renderResponse(request);
  try {
    parentPort?.postMessage(response);
  } catch (error) {
    parentPort?.postMessage(problem(`a value cannot be used: ${messageOf(error)}`));
  }
});
// The time limit starts here: a busy machine can be slow to start a thread.
parentPort?.postMessage('ready');
