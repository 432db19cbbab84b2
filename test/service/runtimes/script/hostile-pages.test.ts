/** Pages that behave badly must not keep a run from continuing, and must not fill its storage. */
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { deferred } from '../../../../src/base/deferred.ts';
import { describeWithChromium, type Site, startSite } from '../../../support/chromium.ts';
import { runPromptly } from '../../../support/promptly.ts';
import { drive, TestHost, type TestSandbox, testSandbox } from './host.ts';

let place: TestSandbox;
beforeEach(async () => {
  place = await testSandbox();
});
afterEach(() => place.remove());

/** Runs a script of a page by clicking a button, performs further actions, and opens another page in a second step. */
async function visit(url: string, actions = '', timeout = '2s') {
  const host = new TestHost(
    `version: 1
steps:
  - browse: { id: bad, url: "${url}", timeout: ${timeout}, on_error: continue, actions: [ { click: button }, ${actions} ] }
  - browse: { id: good, url: "${new URL('/good', url).href}", timeout: 20s, viewport: { width: 400, height: 300 }, actions: [ { extract: { name: text, selector: p } } ] }
  - say: "{{ steps.good.title }}: {{ steps.good.extracted.text }}"
`,
    place.sandbox,
  );
  const outcome = await drive(host);
  return { outcome, host, result: (host.transactions[0] as { result: { result: Record<string, unknown> } }).result.result };
}

const page = (script: string) => `<title>Bad</title><button onclick="${script}">go</button><p>text`;

describeWithChromium('a page that behaves badly', () => {
  let site: Site;
  const downloadEnd = deferred();
  beforeAll(async () => {
    site = await startSite({
      '/good': '<title>Good</title><p id=size>here</p><script>size.append(" in ", innerWidth)</script>',
      '/crash': page(`this.textContent = 'x'.repeat(300e6)`),
      '/spin': page('for (;;);'),
      '/dialogs': page(`setInterval(() => alert('again'), 1)`),
      '/reload': `${page('sessionStorage.reload = 1; location.reload()')}<script>if (sessionStorage.reload) setInterval(() => location.reload(), 5)</script>`,
      '/popups': page(`setInterval(() => window.open('/popup'), 10)`),
      '/popup': '<title>Popup</title>',
      '/confirm': page(`for (let i = 0; i < 10; i++) { alert(i); sessionStorage.count = Number(sessionStorage.count ?? 0) + 1 }`),
      '/count': '<script>document.title = sessionStorage.count ?? "lost"</script>',
      '/long': page(`document.title = '🙂'.repeat(1e6); history.pushState(null, '', '?' + 'q'.repeat(1e6))`),
      '/replaced': page(`Object.defineProperty(HTMLElement.prototype, 'innerText', { get: () => ({ length: 1 }) }); this.title = 'x'`),
      '/many': page(`document.body.innerHTML += '<i>' + 'y'.repeat(70000) + '</i>' + '<i>z</i>'.repeat(2000)`),
      '/download': page(`location = '/endless'`),
      '/endless': (_, response) => {
        response.setHeader('content-disposition', 'attachment; filename=report.csv');
        response.write('a,b\n');
        response.on('close', downloadEnd.resolve);
        return undefined;
      },
      '/after-download': (_, response) => {
        void downloadEnd.promise.then(() => response.end('<title>After</title>'));
        return undefined;
      },
    });
  });

  it.each([
    ['crashes', '/crash', '`button`: the page crashed'],
    ['never responds again', '/spin', 'the element `button` could not be used within 4s'],
    ['shows one dialog after another', '/dialogs', undefined],
    ['loads itself all the time', '/reload', undefined],
  ])('is replaced by a new one when another URL is opened: one that %s', async (_, path, error) => {
    // A page that is busy cannot be expected to show another one.
    const { outcome, host, result } = await visit(`${site.url}${path}`, '{ wait_for: { text: Never } }', '4s');
    expect(outcome).toEqual({ status: 'completed' });
    expect(host.texts).toEqual(['Good: here in 400']);
    expect(result.error).toBe(error ?? 'the page did not contain "Never" within 4s');
  });

  it('does not prolong waiting by opening further pages, of which only a few stay open', async () => {
    const { host, result } = await runPromptly(() => visit(`${site.url}/popups`, '{ wait_for: { text: Never } }'), 30_000);
    expect(result.error).toBe('the page did not contain "Never" within 2s');
    expect(host.texts).toEqual(['Good: here in 400']);
  });

  it('is kept if it shows a dialog now and then', async () => {
    const clicks = Array.from({ length: 3 }, () => '{ click: button }').join(', ');
    const { result } = await visit(`${site.url}/confirm`, `${clicks}, { open: "${site.url}/count" }`);
    expect(result).toMatchObject({ title: '40', error: null });
  });

  it('is kept if it opens many URLs one after the other', async () => {
    const opens = Array.from({ length: 13 }, () => `{ open: "${site.url}/count" }`).join(', ');
    const { result } = await visit(`${site.url}/confirm`, opens);
    expect(result).toMatchObject({ title: '10', error: null });
  });

  it('is shown with the beginning of its title and its URL', async () => {
    const { host, result } = await visit(`${site.url}/long`, '{ wait_for: { text: text } }');
    expect(result).toMatchObject({
      title: `${'🙂'.repeat(999)}…`,
      url: expect.stringMatching(/^http:.*\/long\?q{7900,8000}…$/),
      error: null,
    });
    expect(JSON.stringify(host.events.map((event) => ({ ...event, image: undefined, before: undefined }))).length).toBeLessThan(100_000);
  });

  it('has no text for a function that it replaced by one that returns something else', async () => {
    const texts = '{ extract: { name: one, selector: p } }, { extract: { name: all, selector: p, all: true } }';
    const { result } = await visit(`${site.url}/replaced`, `${texts}, { extract: { name: title, selector: button, attribute: title } }`);
    expect(result).toMatchObject({ extracted: { one: 'text', all: [null], title: 'x' }, error: null });
  });

  it('gives the first part of its texts', async () => {
    const { result } = await visit(`${site.url}/many`, '{ extract: { name: all, selector: i, all: true } }');
    const { all } = result.extracted as { all: string[] };
    expect([all.length, all[0]?.length, all[1]]).toEqual([1_000, 64 * 1024, 'z']);
  });

  it('cannot store what no step downloads', async () => {
    const { host, result } = await visit(`${site.url}/download`, '{ open: "/after-download" }'.replace('/', `${site.url}/`));
    expect(result).toMatchObject({ status: 200, title: 'After', error: null });
    expect(host.texts).toEqual(['Good: here in 400']);
  });
});
