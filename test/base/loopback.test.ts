import { expect, it } from 'vitest';
import { isLoopback } from '../../src/base/loopback.ts';

it.each(['localhost', 'LOCALHOST', 'app.localhost', '127.0.0.1', '127.1.2.3', '::1', '[::1]'])('recognises %s as this machine', (host) => {
  expect(isLoopback(host)).toBe(true);
});

it.each(['127.example.com', '127.0.0.1.example.com', 'localhost.example.com', 'notlocalhost', '10.0.0.1', '0.0.0.0', '::', '[::2]', ''])(
  'does not take %j for this machine',
  (host) => {
    expect(isLoopback(host)).toBe(false);
  },
);
