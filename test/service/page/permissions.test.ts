/** The team page shows the permission that an agent requires, with the changes of files, in both colour schemes. */
import { expect, it } from 'vitest';
import { misbehaving } from '../../agents/installed.ts';
import { newPage } from '../../support/browser-page.ts';
import { describeWithChromium } from '../../support/chromium.ts';
import { startTestService } from '../../support/service.ts';

/** The contrast of two colours such as `rgb(1, 2, 3)` (WCAG 2.2, "contrast ratio"). */
function contrast(first: string, second: string): number {
  const luminance = (colour: string): number => {
    const [red = 0, green = 0, blue = 0] = [...colour.matchAll(/\d+(?:\.\d+)?/g)]
      .map(([number]) => Number(number) / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [dark = 0, light = 0] = [luminance(first), luminance(second)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** Evaluated on the page: the colour of an added line, and the background of the nearest element that has one. */
const coloursOfAddedLine = `(() => {
  const line = document.querySelector('pre.diff .added');
  let place = line;
  while (/^(rgba\\(0, 0, 0, 0\\)|transparent)$/.test(getComputedStyle(place).backgroundColor)) place = place.parentElement;
  return { text: getComputedStyle(line).color, background: getComputedStyle(place).backgroundColor };
})()`;

describeWithChromium('a permission on the team page', () => {
  it.each(['light', 'dark'] as const)(
    'has a readable diff with added lines in %s colours, and can be granted there',
    async (colorScheme) => {
      const service = await startTestService();
      const command = misbehaving('well-behaved').join(' ');
      expect((await service.cli(['agents', 'create', 'writer', '--acp-command', command])).code).toBe(0);
      const started = await service.cli(['runs', 'start', '--agent', 'writer', '--message', 'Hello\nworld', '-o', 'id']);
      const run = started.stdout.trim();
      await service.until(run, 'waiting');
      const { code } = await service.api<{ code: string }>('POST', '/local/page-codes');
      const { page, problems } = await newPage({ colorScheme });
      await page.goto(`${service.service.url}/#code=${code}&view=/inbox`);
      const main = page.getByRole('main');
      await main.getByText('Write result.txt').first().waitFor();
      const added = main.locator('pre.diff .added');
      await expect.poll(() => added.allTextContents()).toEqual(['+Hello\n', '+world\n']);
      const colours = (await page.evaluate(coloursOfAddedLine)) as { text: string; background: string };
      expect(contrast(colours.text, colours.background)).toBeGreaterThanOrEqual(4.5);
      await page.evaluate(`location.hash = '#/runs/${run}'`);
      await main.locator('pre.diff .added').first().waitFor();
      await main.getByRole('radio', { name: 'Approve' }).check();
      await main.getByRole('button', { name: 'Send decision' }).click();
      await main.getByText('I wrote result.txt.').waitFor();
      expect(problems).toEqual([]);
    },
  );
});
