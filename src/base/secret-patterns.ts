/**
 * What secrets look like: tokens of well-known services, private keys, and places where a value is a secret, such as an Authorization
 * header. Only patterns that hardly ever match anything else, because a match is replaced. Issuers document these prefixes for secret
 * scanners.
 */

export interface SecretPattern {
  /** What was found, in words: `GitHub token`. */
  readonly kind: string;
  /**
   * With the flag `g`, and a group named `secret` unless the whole match is one. To stay linear in the length of a text, it cannot begin
   * in the middle of the characters that it repeats.
   */
  readonly pattern: RegExp;
}

/** A token with a prefix that nothing else has. */
const token = (kind: string, body: string): SecretPattern => ({ kind, pattern: new RegExp(`(?<![\\w-])(?:${body})(?![\\w])`, 'g') });

/** A value ends with a space or a quotation mark, and does not begin like a variable, a call, or a marker that replaced a secret. */
const value = String.raw`(?<secret>(?!\[(?:secret|redacted))(?!(?:bearer|basic|token|apikey|digest|negotiate)\b)[^\s"'\x60$<{(\\][^\s"'\x60\\]{5,4096})`;

const keyLine = String.raw`(?:\r?\n|\\r?\\n|\\n)[ \t>|+-]{0,16}(?:[A-Za-z0-9+/=]{1,128}|(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]{0,200}|)`;

export const secretPatterns: readonly SecretPattern[] = [
  {
    kind: 'private key',
    pattern: new RegExp(
      `-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----(?:${keyLine}){1,2000}(?:-----END [A-Z0-9 ]{1,60}-----)?`,
      'g',
    ),
  },
  // Before the tokens, so that the whole header is one finding.
  {
    kind: 'Authorization header',
    pattern: new RegExp(
      String.raw`\b(?:proxy-)?authorization["']?\s{0,4}[:=]\s{0,4}["']?(?:(?:bearer|basic|token|apikey|digest|negotiate)\s+)?${value}`,
      'gi',
    ),
  },
  { kind: 'bearer token', pattern: /\bBearer\s+(?<secret>[A-Za-z0-9._~+/-]{20,4096}=*)/g },
  { kind: 'cookie', pattern: /\b(?:set-)?cookie["']?\s{0,4}:\s{0,4}["']?(?<secret>[\w.-]{1,100}=[^\s"'\\]{6,4096})/gi },
  {
    kind: 'password in a URL',
    pattern: /(?<![\w+.-])[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@"'<>\\]{0,256}:(?<secret>(?!\[(?:secret|redacted))[^\s/@"'<>\\]{1,256})@/gi,
  },
  {
    kind: 'secret in a URL',
    pattern:
      /[?&](?:access_token|refresh_token|id_token|api[_-]?key|token|client_secret|password|sig|signature|X-Amz-Signature|X-Goog-Signature)=(?<secret>[\w.~%+/=-]{8,4096})/gi,
  },
  token('AWS access key ID', '(?:AKIA|ASIA)[A-Z0-9]{16}'),
  token('aops credential', 'aops_(?:local|token|secret|access|page)_[A-Za-z0-9_-]{16,200}'),
  token('GitHub token', 'gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255}'),
  token('GitLab token', 'gl(?:pat|oas|dt|rt|cbt|ptt|ft|imt|agent|soat)-[A-Za-z0-9_.-]{20,300}'),
  token('Slack token', 'xox[abeprs]-[A-Za-z0-9-]{10,300}|xapp-\\d-[A-Za-z0-9-]{10,300}'),
  { kind: 'Slack webhook URL', pattern: /https:\/\/hooks\.slack\.com\/(?:services|workflows)\/(?<secret>[A-Za-z0-9/_-]{20,200})/g },
  token('Stripe key', '(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,255}'),
  token('webhook signing secret', 'whsec_[A-Za-z0-9+/]{24,200}={0,2}'),
  token('Anthropic key', 'sk-ant-[A-Za-z0-9_-]{20,300}'),
  token('OpenAI key', 'sk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,300}|[A-Za-z0-9]{32,100})'),
  token('OpenRouter key', 'sk-or-v1-[a-f0-9]{64}'),
  token('Google key', 'AIza[0-9A-Za-z_-]{35}|GOCSPX-[0-9A-Za-z_-]{28}|ya29\\.[0-9A-Za-z_-]{20,2000}'),
  token('npm token', 'npm_[A-Za-z0-9]{36}'),
  token('PyPI token', 'pypi-AgE[A-Za-z0-9_-]{50,1000}'),
  token('Hugging Face token', 'hf_[A-Za-z]{30,60}'),
  token('SendGrid key', 'SG\\.[\\w-]{16,32}\\.[\\w-]{16,64}'),
  token('DigitalOcean token', 'do[opr]_v1_[a-f0-9]{64}'),
  token('Databricks token', 'dapi[a-f0-9]{32}(?:-\\d)?'),
  token('Linear key', 'lin_(?:api|oauth)_[A-Za-z0-9]{32,100}'),
  token('Notion token', 'ntn_[A-Za-z0-9]{40,100}'),
  token('Telegram bot token', '\\d{8,10}:AA[\\w-]{33}'),
  token('JSON web token', 'eyJ[A-Za-z0-9_-]{10,8192}\\.eyJ[A-Za-z0-9_-]{10,8192}\\.[A-Za-z0-9_-]{10,4096}'),
  { kind: 'Azure key', pattern: /\b(?:AccountKey|SharedAccessKey)=(?<secret>[A-Za-z0-9+/]{40,100}={0,2})/g },
  {
    kind: 'password on a command line',
    pattern: /\bcurl\b[^\n]{0,200}?\s(?:-u|--user)\s{1,4}["']?[^\s:"']{1,100}:(?<secret>(?!\[(?:secret|redacted))[^\s"']{1,256})/g,
  },
  {
    kind: 'secret option',
    pattern: new RegExp(String.raw`(?<![\w-])--(?:password|passwd|token|api-key|secret|client-secret|access-token)[= ]["']?${value}`, 'g'),
  },
  {
    kind: 'secret variable',
    pattern: new RegExp(
      `(?<![A-Z0-9_])(?=[A-Z0-9_]{3,100}=)[A-Z0-9_]{0,80}(?:PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|ACCESS_KEY|PRIVATE_KEY|CREDENTIAL)(?:S|_ID)?=["']?${value}`,
      'g',
    ),
  },
  {
    kind: 'secret field',
    pattern:
      /"(?:password|passwd|secret|client_?secret|api_?key|access_?token|refresh_?token|id_?token|auth_?token|private_?key|secret_?access_?key)"\s{0,4}:\s{0,4}"(?<secret>(?!\[(?:secret|redacted))(?:[^"\\]|\\.){6,4096})"/gi,
  },
];

/** Names of fields whose text is a secret. */
const secretNames =
  /^(?:password|passwd|secret|authorization|proxy-authorization|cookie|set-cookie|x-api-key|api[_-]?key|client[_-]?secret|access[_-]?token|refresh[_-]?token|id[_-]?token|auth[_-]?token|private[_-]?key|secret[_-]?access[_-]?key)$/i;

/** Whether the text of a field with this name is a secret. */
export const isSecretName = (name: string): boolean => secretNames.test(name);
