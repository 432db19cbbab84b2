import { describe, expect, it } from 'vitest';
import { htmlExport, htmlPage, pdfExport } from '../../../src/service/http/pages.ts';

/** The file name in the header of a download, decoded. */
function fileNameOf({ headers }: { headers: Readonly<Record<string, string>> }): string {
  return decodeURIComponent(/filename\*=UTF-8''(.*)$/.exec(headers['Content-Disposition'] ?? '')?.[1] ?? '');
}

describe('an export', () => {
  it.each([
    ['Weekly report', 'Weekly report'],
    ['  a \t b\n ', 'a b'],
    ['../../etc/passwd', 'etc passwd'],
    ['..hidden', 'hidden'],
    ['C:\\a*?"<>|b', 'C a b'],
    ['a\u202egnp.exe', 'a gnp.exe'],
    ['Größe 💡', 'Größe 💡'],
    ['', 'artifact'],
    [' / ', 'artifact'],
    ['...', 'artifact'],
    ['x'.repeat(81), 'x'.repeat(80)],
    // Characters are counted, not halves of them, and no space is left at the end.
    ['💡'.repeat(81), '💡'.repeat(80)],
    [`${'x'.repeat(79)} y`, 'x'.repeat(79)],
  ])('of the title %j is saved under the name %j', (title, name) => {
    expect(fileNameOf(htmlExport('', title))).toBe(`${name}.html`);
    expect(fileNameOf(pdfExport(Buffer.alloc(3), title))).toBe(`${name}.pdf`);
  });
});

it('never runs as a page of the service', () => {
  for (const { headers } of [htmlPage(''), htmlExport('', 'a'), pdfExport(Buffer.alloc(3), 'a')]) {
    expect(headers['Content-Security-Policy']).toMatch(/^default-src 'none'; .*; frame-ancestors 'none'; sandbox$/);
    expect(headers['Referrer-Policy']).toBe('no-referrer');
  }
});
