/** The little of XML that S3 answers with: elements without attributes. */

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

/** The contents of all elements with a name, also inside others; with their markup. */
export function elements(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}(?:\\s[^>]*)?>(.*?)</${name}>`, 'gs'))].map(([, content = '']) => content);
}

/** The text of the first element with a name; undefined if there is none. */
export function textOf(xml: string, name: string): string | undefined {
  return elements(xml, name)[0]?.replace(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (entity, decimal?: string, hex?: string, word?: string) => {
    if (word !== undefined) return entities[word] ?? entity;
    return String.fromCodePoint(decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal));
  });
}
