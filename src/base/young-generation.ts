/**
 * The part of the heap for new objects. V8 doubles it, up to 48 MB, while a command that prints many rows creates objects quickly. They
 * live shortly, so a small one is collected as fast, and a long list needs little more memory than a short one.
 */

/** Bytes from which on it does not grow any more. */
const maxBytes = 6 * 1_048_576;

let isLimited = false;

/** Prevents it from growing further once it is large enough. Call it now and then: growing is not prevented before that. */
export async function limitYoungGeneration(): Promise<void> {
  if (isLimited) return;
  const { default: v8 } = await import('node:v8');
  const size = v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0;
  if (size < maxBytes) return;
  isLimited = true;
  v8.setFlagsFromString('--semi-space-growth-factor=1');
}
