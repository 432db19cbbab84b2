/** The procedure of a revision: which runtime executes it, and its text. */
import { createHash } from 'node:crypto';
import { BoundedCache } from '../../../base/bounded-cache.ts';
import type { RevisionConfig } from '../../../interface/types.ts';
import { ServiceError } from '../../errors.ts';
import type { Runtime } from '../../runtimes/runtime.ts';

export interface Procedure {
  runtime: Runtime;
  text: string;
  hash: string;
}

/**
 * The procedure in a configuration. Throws 400 `unknown_runtime`, or 400 `invalid_procedure` with the invalid lines.
 */
export function procedureOf(runtimes: ReadonlyMap<string, Runtime>, config: RevisionConfig): Procedure {
  const name = config.data.models.agent.model;
  const runtime = runtimes.get(name);
  if (runtime === undefined) {
    throw new ServiceError(
      400,
      'unknown_runtime',
      `This service has no runtime "${name}"; models.agent.model must be one of: ${[...runtimes.keys()].join(', ')}.`,
      {
        details: [{ message: `must be one of: ${[...runtimes.keys()].join(', ')}`, path: 'config.data.models.agent.model' }],
      },
    );
  }
  const text = inputText(config.data.input);
  const hash = createHash('sha256').update(text).digest('hex');
  validate(runtime, text, hash);
  return { runtime, text, hash };
}

/** How many valid procedures of each runtime are remembered. */
const maxValid = 10_000;
const validHashes = new WeakMap<Runtime, BoundedCache<true>>();

/** Every start of a run needs its procedure to be valid, but a text that was valid remains so. */
function validate(runtime: Runtime, text: string, hash: string): void {
  const hashes = validHashes.get(runtime) ?? new BoundedCache<true>(maxValid);
  validHashes.set(runtime, hashes);
  if (hashes.get(hash) !== undefined) return;
  runtime.validate(text);
  hashes.set(hash, true);
}

/** The text of an input: the input itself, or the texts of its messages joined by line breaks. */
export function inputText(input: RevisionConfig['data']['input']): string {
  if (typeof input === 'string') return input;
  return input
    .flatMap(({ content }) =>
      typeof content === 'string' ? [content] : content.flatMap((part) => (part.type === 'input_text' ? [part.text] : [])),
    )
    .join('\n');
}
