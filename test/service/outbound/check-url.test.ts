import { expect, it } from 'vitest';
import { checkOutboundUrl } from '../../../src/service/outbound/check-url.ts';

const purpose = { field: 'url', code: 'host_not_allowed', refusalMessage: (host: string) => `leads to ${host}, which is not allowed` };
const check = (text: string, isAllowed = true) => checkOutboundUrl({ isAllowed: async () => isAllowed }, text, purpose);

it.each([
  ['http://hooks.example', 'http://hooks.example/'],
  ['HTTPS://Hooks.example:8443/a?b=c', 'https://hooks.example:8443/a?b=c'],
  ['https://hooks.example/a#fragment', 'https://hooks.example/a'],
])('the URL %s can be connected to, as %s', async (text, url) => {
  expect(await check(text)).toBe(url);
});

it.each([
  ['hooks.example', 'must be an http or https URL'],
  ['', 'must be an http or https URL'],
  ['http://', 'must be an http or https URL'],
  ['ftp://hooks.example/', 'must be an http or https URL'],
  ['file:///etc/passwd', 'must be an http or https URL'],
  ['javascript:alert(1)', 'must be an http or https URL'],
  ['https://name@hooks.example/', 'must not contain a user name or password'],
  ['https://:password@hooks.example/', 'must not contain a user name or password'],
  ['https://name:password@hooks.example/', 'must not contain a user name or password'],
])('the URL %j is refused: it %s', async (text, message) => {
  await expect(check(text)).rejects.toMatchObject({
    status: 400,
    error: 'invalid_request',
    message: `url ${message}.`,
    details: [{ path: 'url', message }],
  });
});

it('a URL whose host is not allowed is refused with the code and the message of its purpose', async () => {
  const message = 'leads to hooks.example, which is not allowed';
  await expect(check('https://hooks.example/a', false)).rejects.toMatchObject({
    status: 400,
    error: 'host_not_allowed',
    message: `url ${message}.`,
    details: [{ path: 'url', message }],
  });
});
