/** A request as a curl command line for a POSIX shell, with the credential as a variable. */
import { shellQuoted } from '../../base/shell.ts';
import type { ServiceRequest } from '../../client/request.ts';

export interface CurlParts {
  /** The idempotency key, for a change. */
  key: string | undefined;
  /** The source of the body, if it is a file or standard input. */
  bodyFile: string | undefined;
  /** Files for TLS, by the option of curl. */
  files: Readonly<Partial<Record<'cacert' | 'cert' | 'key', string | undefined>>>;
}

export function curlCommand(baseUrl: string, { method, path, headers, body }: ServiceRequest, { key, bodyFile, files }: CurlParts): string {
  const lines = [
    `curl${method === 'GET' ? '' : ` -X ${method}`} ${shellQuoted(baseUrl + path)}`,
    ...Object.entries(files).flatMap(([option, file]) => (file === undefined ? [] : [`--${option} ${shellQuoted(file)}`])),
    '-H "Authorization: Bearer $AOPS_API_KEY"',
    ...Object.entries({ ...headers, ...(key === undefined ? {} : { 'idempotency-key': key }) }).map(
      ([name, value]) => `-H ${shellQuoted(`${name}: ${value}`)}`,
    ),
    ...(body === undefined ? [] : [`--data-binary ${shellQuoted(bodyFile === undefined ? body.toString() : `@${bodyFile}`)}`]),
  ];
  return lines.join(' \\\n  ');
}
