import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RunImage, RuntimeEvent } from '../../../../src/service/runtimes/run-host.ts';
import { scriptRuntime } from '../../../../src/service/runtimes/script/script-runtime.ts';
import { describeWithChromium, type Site, startSite } from '../../../support/chromium.ts';
import { runPromptly } from '../../../support/promptly.ts';
import { drive, TestHost, type TestHostOptions, type TestSandbox, testSandbox } from './host.ts';

let place: TestSandbox;
beforeEach(async () => {
  place = await testSandbox();
});
afterEach(() => place.remove());

const host = (steps: string, options: TestHostOptions = {}): TestHost =>
  new TestHost(`version: 1\nsteps:\n${steps.trim().replace(/^/gm, '  ')}\n`, place.sandbox, options);
async function run(steps: string, options: TestHostOptions = {}) {
  const testHost = host(steps, options);
  return { host: testHost, outcome: await drive(testHost) };
}
const shots = (host: TestHost) => host.events.filter((event) => event.kind === 'screenshot') as (RuntimeEvent & { kind: 'screenshot' })[];
/** The bytes of a new picture of an event. */
const bytesOf = ({ image }: RuntimeEvent & { kind: 'screenshot' }) => Buffer.from((image as RunImage).bytes);
const content = async (path: string) => (await place.sandbox.read(path, 10_000)).bytes.toString();

describe('browse without a browser', () => {
  const step = '- browse: { url: "http://127.0.0.1:9/" }';

  it('says what to install, and how to specify a browser', async () => {
    const { host, outcome } = await run(step, { browsing: { searchPath: '', places: [] } });
    expect(outcome).toEqual({
      status: 'failed',
      error:
        'Step 1 (browse, line 3): no Chromium is installed. Install Chromium, Chrome, or Edge (on Debian and Ubuntu: apt-get install chromium), or specify its path with AOPS_CHROMIUM or --chromium PATH when you start the service.',
    });
    expect(host.events).toEqual([]);
  });

  it('reports that the specified browser does not exist', async () => {
    const { outcome } = await run(step, { browsing: { executable: '/nowhere/chromium' } });
    expect(outcome).toMatchObject({ status: 'failed', error: expect.stringContaining('the program /nowhere/chromium') });
  });

  it('reports that this service does not allow browsing', async () => {
    const { outcome } = await run(step, { browsing: { policy: 'off' } });
    expect(outcome).toMatchObject({ status: 'failed', error: expect.stringMatching(/does not allow\. .*--browse on.*--browse public/) });
  });

  it('reports a browser that does not start', async () => {
    const { outcome } = await run(step, { browsing: { executable: '/bin/false' } });
    expect(outcome).toMatchObject({ status: 'failed', error: expect.stringMatching(/\/bin\/false did not start: /) });
  });
});

describeWithChromium('browse', () => {
  let site: Site;
  beforeAll(async () => {
    site = await startSite({
      '/': `<title>Shop</title><h1>Shop</h1><script>console.error('a script is old')</script>
        <form action=/account method=post enctype=multipart/form-data><input id=user name=user><input id=key type=password>
        <select id=plan><option value=s>Small<option value=l>Large</select><input id=file type=file>
        <button>Sign in</button></form>`,
      '/account': (request, response) => {
        if (request.method === 'POST') response.setHeader('set-cookie', 'who=ada');
        return `<title>Account</title><h1>Welcome</h1><p id=cookie>${request.headers.cookie ?? 'nobody'}</p>
          <ul><li data-n=1>one<li data-n=2>two</ul><a id=report href=/report>Report</a><input id=late>
          <script>setTimeout(() => document.body.append('Ready'), 50); late.value = 'now';</script>`;
      },
      '/report': (_, response) => {
        response.setHeader('content-disposition', 'attachment; filename="../../re port.csv"');
        return 'a,b\n1,2\n';
      },
      '/tall': '<title>Tall</title><div style="height:3000px">tall</div><button>one</button><button>two</button>',
      '/spin': '<title>Spin</title><button onclick="for(;;);">spin</button>',
      '/slow': '<title>Slow</title><a href=/endless>Report</a>',
      '/endless': (_, response) => {
        response.setHeader('content-disposition', 'attachment; filename=report.csv');
        response.write('a,b\n');
        return undefined;
      },
      '/prompt': `<title>Prompt</title><button onclick="document.title = prompt('Who?', 'Ada')">ask</button>`,
      '/stay': '<title>Stay</title><button>one</button><script>onbeforeunload = (event) => event.preventDefault()</script>',
      '/date': '<title>Date</title><input type=date>',
      '/leave': (_, response) => void response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
      '/popup': '<title>Opener</title><a href=/account target=_blank>open</a>',
      '/late': '<title>Opener</title><button onclick="setTimeout(() => window.open(\'/account\'), 300)">open</button>',
    });
  });

  it('performs its actions, shows each with pictures, and makes what it found available to later steps', async () => {
    await place.sandbox.write('in.txt', Buffer.from('text'));
    const { host, outcome } = await run(
      `
- browse:
    id: shop
    url: "{{ message }}/"
    actions:
      - fill: { selector: "#user", text: "{{ run.number }}" }
      - fill: { selector: "#key", text: open sesame }
      - select: { selector: "#plan", option: Large }
      - upload: { selector: "#file", path: in.txt }
      - screenshot: The form
      - click: text=Sign in
      - wait_for: { text: Ready }
      - wait_for: { url: "*/account" }
      - extract: { name: items, selector: li, all: true }
      - extract: { name: numbers, selector: li, all: true, attribute: data-n }
      - extract: { name: heading, selector: h1 }
      - extract: { name: field, selector: "#late", attribute: value }
      - download: { click: "#report" }
- say: "{{ steps.shop.extracted.heading }} {{ steps.shop.extracted.items | join: '+' }} at {{ steps.shop.url }}"
- approve: { id: go, title: Go on? }
- browse: { id: again, actions: [ { extract: { name: who, selector: "#cookie" } } ] }
- say: "{{ steps.again.extracted.who }}"`,
      { messages: [site.url] },
    );
    expect(outcome).toMatchObject({ status: 'waiting', step: '3-approve' });
    host.answers['3-approve'] = { type: 'approval', approved: true };
    expect(await drive(host)).toEqual({ status: 'completed' });
    // After the pause, in another browser: the same page, reloaded, with its cookie.
    expect(host.texts).toEqual([`Welcome one+two at ${site.url}/account`, 'who=ada']);
    expect(host.transactions.find(({ step }) => step === '1-browse')?.result).toEqual({
      result: {
        url: `${site.url}/account`,
        title: 'Account',
        status: 200,
        extracted: { items: ['one', 'two'], numbers: ['1', '2'], heading: 'Welcome', field: 'now' },
        downloads: [{ path: '/workspace/downloads/_.._re port.csv', size: 8 }],
        console_errors: ['a script is old'],
        error: null,
      },
    });
    expect(await content('downloads/_.._re port.csv')).toBe('a,b\n1,2\n');
    expect(JSON.stringify([host.events, host.transactions])).not.toContain('sesame');

    const first = shots(host).slice(0, 7);
    expect(first.map(({ action, input }) => [action, input?.selector ?? input?.caption ?? input?.address, input?.title])).toEqual([
      ['open', `${site.url}/`, 'Shop'],
      ['fill', '#user', 'Shop'],
      ['fill', '#key', 'Shop'],
      ['select', '#plan', 'Shop'],
      ['upload', '#file', 'Shop'],
      ['screenshot', 'The form', 'Shop'],
      ['click', 'text=Sign in', 'Account'],
    ]);
    // There is no picture before the first page; then each action starts with the last picture of the previous one.
    expect(first.map(({ before }) => before)).toEqual([
      undefined,
      ...['1-browse:1', '1-browse:2', '1-browse:3', '1-browse:4', '1-browse:5', '1-browse:6'].map((stepName) => ({ of: stepName })),
    ]);
    for (const shot of first) expect(bytesOf(shot).subarray(1, 4).toString()).toBe('PNG');
    // Actions that only read show the unchanged page.
    expect(shots(host).find(({ action }) => action === 'extract')?.image).toEqual({ of: expect.stringMatching(/^1-browse:/) });
    const results = host.results();
    expect(results[0]?.result).toMatchObject({ status: 200, console_errors: ['a script is old'] });
    expect(results[5]).toMatchObject({ screenshot: '1-browse:6', result: { mime_type: 'image/png', size: expect.any(Number) } });
  });

  it('needs a page', async () => {
    const { outcome } = await run('- browse: { actions: [ { click: a } ] }');
    expect(outcome).toEqual({ status: 'failed', error: 'Step 1 (browse, line 3) has no page to continue with; give it a `url`.' });
  });

  it('continues on the page of the previous step, and follows new pages', async () => {
    const { host, outcome } = await run(`
- browse: { url: "${site.url}/popup", actions: [ { click: a }, { wait_for: { selector: h1 } } ] }
- browse: { id: here, full_page: true, viewport: { width: 400, height: 300 }, actions: [ { extract: { name: h, selector: h1 } }, { open: "${site.url}/tall" }, { screenshot: All of it } ] }
- say: "{{ steps.here.extracted.h }} {{ steps.here.title }}"`);
    expect(outcome).toEqual({ status: 'completed' });
    expect(host.texts).toEqual(['Welcome Tall']);
    const [shot] = shots(host).slice(-1);
    const bytes = bytesOf(shot as NonNullable<typeof shot>);
    // The width and height of a PNG.
    expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([400, expect.toSatisfy((height: number) => height >= 3_000)]);
  });

  it('continues on a page that opens while it waits on the previous one', async () => {
    const { host, outcome } = await run(`
- browse: { url: "${site.url}/late", actions: [ { click: button }, { wait_for: { selector: h1 } } ] }
- browse: { id: there, url: "${site.url}/late", actions: [ { click: button }, { fill: { selector: "#late", text: x } }, { extract: { name: h, selector: h1 } } ] }
- say: "{{ steps.there.extracted.h }}"`);
    expect(outcome).toEqual({ status: 'completed' });
    expect(host.texts).toEqual(['Welcome']);
    // It is not a password field, which is also checked on that page.
    expect(shots(host).find(({ action }) => action === 'fill')?.input).toMatchObject({ selector: '#late', text: 'x' });
  });

  it('waits once for the field that it fills, and does not reveal the text', async () => {
    const testHost = host(
      `- browse: { id: a, url: "${site.url}/tall", timeout: 4s, on_error: continue, actions: [ { fill: { selector: "#nope", text: sesame } } ] }\n- say: "{{ steps.a.error }}"`,
    );
    const reports: { events: RuntimeEvent[]; at: number }[] = [];
    const emit = testHost.emit.bind(testHost);
    testHost.emit = (events) => {
      reports.push({ events, at: performance.now() });
      return emit(events);
    };
    await drive(testHost);
    expect(testHost.texts).toEqual(['no element matches `#nope` within 4s']);
    expect(shots(testHost).at(-1)?.input).toMatchObject({ text: '(hidden)' });
    const [callReport, doneReport] = reports
      .filter(({ events }) => events.some(({ id }) => id.startsWith('1-browse:2')))
      .map(({ at }) => at);
    // The field was looked up before the action was reported.
    expect((doneReport as number) - (callReport as number)).toBeLessThan(4_000);
  });

  it('reports errors, and continues if allowed', async () => {
    // Opening a page takes time on a loaded machine. Actions that do not wait finish before their timeout.
    const time = 20_000;
    const invalidStep = (id: string, url: string | undefined, action = '', timeout = `${time}ms`) =>
      `- browse: { id: ${id}, timeout: ${timeout}, on_error: continue${url === undefined ? '' : `, url: "${url}"`}${action === '' ? '' : `, actions: [ ${action} ]`} }\n- say: "{{ steps.${id}.error }}"`;
    const steps = [
      invalidStep('a', `${site.url}/tall`, '{ click: "#nope" }', '3s'),
      invalidStep('b', undefined, '{ click: button }'),
      invalidStep('c', undefined, '{ wait_for: { text: Never } }', '400ms'),
      invalidStep('d', undefined, '{ wait_for: { gone: div } }', '400ms'),
      invalidStep('e', undefined, '{ press: Frobnicate }'),
      invalidStep('f', undefined, '{ click: "((" }'),
      invalidStep('g', undefined, '{ upload: { selector: button, path: none.txt } }'),
      invalidStep('h', 'file:///etc/passwd'),
      invalidStep('i', 'chrome://settings'),
      invalidStep('j', 'http://user:secret@127.0.0.1:9/'),
      invalidStep('k', `${site.url}/leave`),
      invalidStep('l', `${site.url}/report`),
      `- browse: { id: missing, url: "${site.url}/missing" }`,
      '- say: "{{ steps.missing.status }} {{ steps.missing.title }}"',
      `- browse: { timeout: 400ms, actions: [ { click: "#nope" }, { open: "${site.url}/" } ] }`,
    ];
    const { host, outcome } = await runPromptly(() => run(steps.join('\n')), time);
    expect(host.texts).toEqual([
      'no element matches `#nope` within 3s',
      '2 elements match `button`; write a selector that matches only one',
      'the page did not contain "Never" within 400ms',
      '`div` did not disappear within 400ms',
      'the key `Frobnicate` could not be pressed: Unknown key: "Frobnicate"',
      expect.stringMatching(/^`\(\(`: Unexpected token/),
      'There is no file or directory "/workspace/none.txt" in the sandbox.',
      '`file:///etc/passwd` cannot be opened: a URL must begin with http:// or https://',
      '`chrome://settings` cannot be opened: a URL must begin with http:// or https://',
      expect.stringMatching(/^http:\/\/127\.0\.0\.1:9\/ could not be opened: /),
      expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/leave could not be opened: .*ERR_UNSAFE_REDIRECT/),
      expect.stringMatching(/report is a download, not a page/),
      '404 Nothing',
    ]);
    expect(outcome).toEqual({ status: 'failed', error: 'Step 27 (browse, line 29): no element matches `#nope` within 400ms.' });
    expect(shots(host).at(-1)).toMatchObject({ action: 'click', error: 'no element matches `#nope` within 400ms' });
    expect(JSON.stringify(host.events)).not.toContain('secret');
  });

  it('reaches only public addresses if configured so', async () => {
    const port = new URL(site.url).port;
    const before = site.requests.length;
    const names = ['127.0.0.1', 'localhost', '[::1]', '169.254.169.254'];
    const steps = names.map(
      (name, index) =>
        `- browse: { id: s${index}, url: "http://${name}:${port}/", on_error: continue }\n- say: "{{ steps.s${index}.error }}"`,
    );
    const { host } = await run(steps.join('\n'), { browsing: { policy: 'public' } });
    for (const text of host.texts) expect(text).toContain('this service opens only public ones');
    expect(host.texts).toHaveLength(names.length);
    expect(site.requests).toHaveLength(before);
  });

  it('continues after a page whose script never ends', async () => {
    const browse = (id: string, fields: string) =>
      `- browse: { id: ${id}, timeout: 1s, on_error: continue, ${fields} }\n- say: "{{ steps.${id}.error }}"`;
    const steps = [
      // Without the short time limit, because opening a page takes time on a loaded machine.
      `- browse: { url: "${site.url}/spin" }`,
      browse('a', 'actions: [ { click: button }, { extract: { name: x, selector: button } } ]'),
      browse('b', 'actions: [ { press: Enter } ]'),
    ];
    const { host } = await runPromptly(() => run(steps.join('\n')), 60_000);
    expect(host.texts).toHaveLength(2);
    for (const text of host.texts) expect(text).toMatch(/within 1s/);
  });

  it('gives up on a stalled download and reports it', async () => {
    const steps = `- browse: { id: a, url: "${site.url}/slow", timeout: 1s, on_error: continue, actions: [ { download: { click: a } } ] }
- say: "{{ steps.a.error }}"`;
    const { host } = await runPromptly(() => run(steps), 30_000);
    expect(host.texts).toEqual(['the download made no progress for 1s']);
  });

  it('accepts a dialog with its default text, leaves a page that asks for confirmation, and explains how to fill a date field', async () => {
    const fill = (id: string, text: string) =>
      `- browse: { id: ${id}, url: "${site.url}/date", on_error: continue, actions: [ { fill: { selector: input, text: "${text}" } } ] }\n- say: "${id}: {{ steps.${id}.error }}"`;
    const steps = [
      `- browse: { id: ask, url: "${site.url}/prompt", dialogs: accept, actions: [ { click: button } ] }\n- say: "ask: {{ steps.ask.title }}"`,
      `- browse: { id: stay, url: "${site.url}/stay", actions: [ { click: button }, { open: "${site.url}/tall" } ] }\n- say: "stay: {{ steps.stay.title }}"`,
      ...[fill('local', '18.07.2026'), fill('iso', '2026-07-18'), fill('none', '')],
    ];
    const { host } = await run(steps.join('\n'));
    expect(host.texts).toEqual([
      'ask: Ada',
      'stay: Tall',
      'local: `input`: the field only accepts the format 2026-07-18',
      'iso: ',
      'none: ',
    ]);
  });

  it('is interrupted immediately, whatever the page does', async () => {
    const stop = new AbortController();
    const testHost = host(`- browse: { url: "${site.url}/spin", timeout: 5m, actions: [ { click: button } ] }`, { signal: stop.signal });
    const emit = testHost.emit.bind(testHost);
    testHost.emit = async (events) => {
      await emit(events);
      // The call of the click: from now on, the page does not respond.
      if (events.some(({ id }) => id === '1-browse:2:call')) setImmediate(() => stop.abort(new Error('stopped')));
    };
    await expect(scriptRuntime.advance(testHost)).rejects.toThrow('stopped');
    expect(testHost.transactions).toEqual([]);
  });
});
