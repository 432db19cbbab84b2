/** The change of a configuration file as people see it, without the secrets that the file may contain. Pure, except for loading. */
import { createRedactor } from '../../../base/redaction.ts';
import { isObject, shorten } from '../../../base/values.ts';
import { renderDiff } from '../../../terminal/diff.ts';
import type { Styles } from '../../../terminal/style.ts';
import { isPathVariable } from '../entry.ts';

/** Characters of a line; some clients write their whole file on one. */
const maxLineLength = 300;

interface Change {
  file: string;
  before: string;
  after: string;
  /** Whether the file exists. */
  exists: boolean;
  /** The parsed file. */
  document: unknown;
}

/** A unified diff. Values of variables and headers, and of members whose names suggest a secret, are replaced by their names. */
export async function previewChange({ file, before, after, exists, document }: Change, styles?: Styles): Promise<string> {
  const redactor = createRedactor(new Map(secretsOf(document)));
  const [shownBefore, shownAfter] = [before, after].map((text) =>
    redactor
      .text(text)
      .split('\n')
      .map((line) => shorten(line, maxLineLength))
      .join('\n'),
  ) as [string, string];
  const comparison = { before: shownBefore, after: shownAfter, beforeName: exists ? file : '/dev/null', afterName: file };
  return renderDiff(comparison, styles === undefined ? {} : { styles });
}

const secretContainer = /^(env|environment|headers|http_headers|env_http_headers)$/i;
const secretName = /key|token|secret|password|passwd|auth|credential|cookie|bearer/i;
/** A long word that mixes letters and digits, such as a token in an argument. */
const tokenForm = /^(?=.*\d)(?=.*[A-Za-z])[\w+=.:-]{20,}$/;

function secretsOf(value: unknown, name = '', isSecret = false): [name: string, value: string][] {
  if (typeof value === 'string') {
    return !isPathVariable(name) && (isSecret || tokenForm.test(value)) ? [[name, value]] : [];
  }
  if (Array.isArray(value)) return value.flatMap((item) => secretsOf(item, name, isSecret));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([member, inner]) =>
    secretsOf(inner, member, isSecret || secretContainer.test(member) || secretName.test(member)),
  );
}
