/** Secrets in texts and JSON values are replaced and counted, and texts that only resemble secrets are not. */
import { describe, expect, it } from 'vitest';
import { secretPatterns } from '../../src/base/secret-patterns.ts';
import { SecretRedaction } from '../../src/base/secret-redaction.ts';
import { runPromptly } from '../support/promptly.ts';

/** A made-up token, joined here so that secret scanners do not find it in this file. */
const made = (...parts: string[]): string => parts.join('');
const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const body = (length: number): string => letters.repeat(10).slice(3, 3 + length);
const hex = (length: number): string => '0123456789abcdef'.repeat(10).slice(0, length);
const key = (label: string): string =>
  `-----BEGIN ${label}PRIVATE KEY-----\n${body(64)}\n${body(64)}\n${body(20)}==\n-----END ${label}PRIVATE KEY-----`;

/** The kind, a text that contains the secret, and the secret. */
const cases: [kind: string, text: string, secret: string][] = [
  ['private key', `see ${key('RSA ')} end`, body(64)],
  ['private key', JSON.stringify({ file: key('OPENSSH ') }), body(64)],
  ['private key', key('').replaceAll('\n', '\n+'), body(64)],
  ['Authorization header', `curl -H "Authorization: Bearer ${body(30)}" https://a.test`, body(30)],
  ['Authorization header', `authorization: Basic ${body(16)}==`, body(16)],
  ['bearer token', `send Bearer ${body(40)} with it`, body(40)],
  ['cookie', `Set-Cookie: session=${body(20)}; Path=/`, body(20)],
  ['password in a URL', 'postgres://app:hunter2secret@db.test/app', 'hunter2secret'],
  ['secret in a URL', `https://a.test/x?a=1&token=${body(20)}&b=2`, body(20)],
  ['AWS access key ID', made('AKIA', 'IOSFODNN7EXAMPLE'), made('AKIA', 'IOSFODNN7EXAMPLE')],
  ['aops credential', `(${made('aops_', 'local_')}${body(32)})`, body(32)],
  ['GitHub token', made('gh', 'p_', body(36)), body(36)],
  ['GitHub token', made('github', '_pat_', body(60)), body(60)],
  ['GitLab token', made('gl', 'pat-', body(20)), body(20)],
  ['Slack token', made('xo', 'xb-', body(30)), body(30)],
  ['Slack webhook URL', made('https://hooks.slack', '.com/services/T00000000/B00000000/', body(24)), body(24)],
  ['Stripe key', made('sk', '_live_', body(24)), body(24)],
  ['webhook signing secret', made('whs', 'ec_', body(32)), body(32)],
  ['Anthropic key', made('sk-', 'ant-api03-', body(80)), body(80)],
  ['OpenAI key', made('sk-', 'proj-', body(80)), body(80)],
  ['OpenRouter key', made('sk-', 'or-v1-', hex(64)), hex(64)],
  ['Google key', made('AI', 'za', body(35)), body(35)],
  ['npm token', made('np', 'm_', body(36)), body(36)],
  ['PyPI token', made('py', 'pi-AgE', body(60)), body(60)],
  ['Hugging Face token', made('h', 'f_', letters.slice(0, 34)), letters.slice(0, 34)],
  ['SendGrid key', made('S', 'G.', body(22), '.', body(43)), body(43)],
  ['DigitalOcean token', made('do', 'p_v1_', hex(64)), hex(64)],
  ['Databricks token', made('da', 'pi', hex(32)), hex(32)],
  ['Linear key', made('lin', '_api_', body(40)), body(40)],
  ['Notion token', made('nt', 'n_', body(46)), body(46)],
  ['Telegram bot token', made('123456789', ':AA', body(33)), body(33)],
  ['JSON web token', made('ey', 'J', body(30), '.ey', 'J', body(40), '.', body(40)), body(40)],
  ['Azure key', `AccountName=a;AccountKey=${body(86)}==;`, body(86)],
  ['password on a command line', 'curl -s -u admin:hunter2 https://a.test', 'hunter2'],
  ['secret option', `tool --password ${body(12)} run`, body(12)],
  ['secret variable', `export DB_PASSWORD=${body(12)}`, body(12)],
  ['secret field', `{"apiKey": "${body(12)}"}`, body(12)],
];

describe('a secret in a text', () => {
  it.each(cases)('is replaced with its kind: %s', (kind, text, secret) => {
    const redaction = new SecretRedaction();
    const result = redaction.text(text, 'messages');
    expect(result).not.toContain(secret);
    expect(result).toContain(`[redacted: ${kind}]`);
    expect(redaction.list).toEqual([{ kind, place: 'messages', count: 1 }]);
    // A redacted text contains nothing more to redact.
    expect(redaction.text(result, 'messages')).toBe(result);
    expect(redaction.list).toHaveLength(1);
  });

  it('has a test for every pattern', () => {
    expect(secretPatterns.map(({ kind }) => kind).filter((kind) => !cases.some(([name]) => name === kind))).toEqual([]);
  });

  it.each([
    'const token = getToken(); password: process.env.PASSWORD',
    'export DB_PASSWORD="$SECRET" API_KEY=<your key> TOKEN=`cat file` SECRET=$(cat x)',
    'https://example.com:8080/a@b?page=2&tokens=12345678901',
    'git@github.com:owner/repository.git and ssh://git@github.com/owner/repository',
    'The header Authorization: Bearer is missing',
    'commit 9fceb02d0ae598e95dc970b74767f19372d61af8 and 2f1e4d3c-0000-4000-8000-000000000001',
    'sk-learn and sk-lowercase-words-with-hyphens, eyJ.eyJ.x, -----BEGIN PUBLIC KEY-----',
    'Look for "-----BEGIN PRIVATE KEY-----" in the file',
    '{"password": "", "secret": "none", "token_count": "123456789"}',
    'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk',
  ])('is not found in %j', (text) => {
    const redaction = new SecretRedaction();
    expect(redaction.text(text, 'messages')).toBe(text);
    expect(redaction.list).toEqual([]);
  });

  it('is found in long hostile texts without a pattern that takes quadratic time', async () => {
    const redaction = new SecretRedaction();
    const units = [
      'eyJ-',
      'eyJa.',
      'A',
      'TOKEN_',
      'a://',
      '-----BEGIN PRIVATE KEY-----\n',
      'curl -u ',
      '"secret":"',
      '?token=',
      'Bearer ',
      'sk-',
    ];
    await runPromptly(() => {
      for (const unit of units) redaction.text(unit.repeat(200_000 / unit.length), 'messages');
    }, 2_000);
  });
});

describe('a value', () => {
  it('loses the texts of fields with secret names, and secrets in all other strings and names', () => {
    const redaction = new SecretRedaction();
    const token = made('gh', 'p_', body(36));
    const value = {
      headers: { Authorization: 'x'.repeat(12), Accept: 'json' },
      list: [token, 7, null, { [token]: true }],
      password: 'none',
    };
    expect(redaction.value(value, 'tool arguments')).toEqual({
      headers: { Authorization: '[redacted: secret field]', Accept: 'json' },
      list: ['[redacted: GitHub token]', 7, null, { '[redacted: GitHub token]': true }],
      password: 'none',
    });
    expect(redaction.list).toEqual([
      { kind: 'GitHub token', place: 'tool arguments', count: 2 },
      { kind: 'secret field', place: 'tool arguments', count: 1 },
    ]);
  });

  it('that is nested too deeply is cut instead of exhausting the stack', () => {
    const deep = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) as unknown;
    expect(JSON.stringify(new SecretRedaction().value(deep, 'x'))).toContain('[left out: nested too deeply]');
  });
});

it('replaces specified values in all their encodings, and counts the markers of the service', () => {
  const redaction = new SecretRedaction(new Map([['credential of this command', 'swordfish-swordfish']]));
  const text = `swordfish-swordfish ${Buffer.from('swordfish-swordfish').toString('base64')} [secret API_KEY]`;
  expect(redaction.text(text, 'messages')).toBe(
    '[redacted: credential of this command] [redacted: credential of this command] [secret API_KEY]',
  );
  expect(redaction.list).toEqual([
    { kind: 'credential of this command', place: 'messages', count: 2 },
    { kind: 'secret API_KEY, replaced by the service', place: 'messages', count: 1 },
  ]);
});
