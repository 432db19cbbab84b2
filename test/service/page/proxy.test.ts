/** The team page behind a TLS proxy, under a name that the service does not listen on. */
import http from 'node:http';
import { expect, it } from 'vitest';
import { newPage } from '../../support/browser-page.ts';
import { describeWithChromium } from '../../support/chromium.ts';
import { startTestService } from '../../support/service.ts';
import { whenDone } from '../../support/temporary.ts';
import { startHttps } from '../../support/tls.ts';

describeWithChromium('the team page behind a proxy', () => {
  it.each([
    ['passes on the name that it was called by', true],
    ['calls the service by its own name', false],
  ])('that %s signs in, follows a run, and answers its request', async (_, keepsHost) => {
    let target = '';
    const proxy = await startHttps('server', (request, response) => {
      const headers = keepsHost ? request.headers : { ...request.headers, host: new URL(target).host };
      const upstreamRequest = http.request(target + request.url, { method: request.method, headers }, (answer) => {
        response.writeHead(answer.statusCode as number, answer.headers);
        answer.pipe(response);
      });
      upstreamRequest.on('error', () => response.destroy());
      request.pipe(upstreamRequest);
    });
    whenDone(() => proxy.close());
    // Browsers resolve names below localhost to this machine; the service only knows them from --public-url.
    const publicUrl = `https://agents.localhost:${proxy.port}`;
    const service = await startTestService({ publicUrl });
    target = service.service.url;
    const run = await service.waiting('- write: { path: note.txt, content: "kept" }\n- approve: { id: a, title: Pay it? }\n- say: Paid.');
    const { code } = await service.api<{ code: string }>('POST', '/local/page-codes');
    const { page, problems } = await newPage({ ignoreHTTPSErrors: true });
    await page.goto(`${publicUrl}/#code=${code}&view=/runs/${run}`);
    await page.getByRole('radio', { name: 'Approve' }).check();
    await page.getByRole('button', { name: 'Send decision' }).click();
    await page.getByRole('main').getByText('Paid.').waitFor();
    await page.getByRole('link', { name: 'Files' }).click();
    await page.getByRole('link', { name: 'note.txt' }).click();
    await page.getByRole('main').getByText('kept').waitFor();
    expect(await page.evaluate('[location.origin, document.cookie]')).toEqual([publicUrl, '']);
    await service.until(run, 'completed');
    expect(problems).toEqual([]);
  });
});
