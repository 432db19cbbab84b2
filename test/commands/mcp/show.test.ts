import { expect, it } from 'vitest';
import { showData } from '../../../src/commands/mcp/show.ts';

it('names the parts of a result that are not text, with their sizes in bytes', async () => {
  const image = (size: number) => ({ type: 'image', mimeType: 'image/png', data: Buffer.alloc(size).toString('base64') });
  const link = { type: 'resource_link', uri: 'file:///report.pdf' };
  const text = { type: 'text', text: 'Two pictures\u001b[2J' };
  const shown = await showData({ content: [text, image(1), image(2), image(3), link] }, undefined, { tty: false, width: 80, now: 0 });
  expect(shown).toBe(
    [
      'Two pictures^[[2J',
      '[image image/png, 1 byte]',
      '[image image/png, 2 bytes]',
      '[image image/png, 3 bytes]',
      '[resource_link file:///report.pdf]',
      '',
    ].join('\n'),
  );
});
