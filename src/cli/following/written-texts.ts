/** What a person wrote for one request, so that it can be saved when it was not sent. */
import type { Drafts } from '../../terminal/prompting/drafts.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';

interface Text {
  question: string;
  text: string;
}

export class WrittenTexts {
  readonly #texts: Text[] = [];

  add(question: string, text: string): void {
    if (text.trim() !== '') this.#texts.push({ question, text });
  }

  /**
   * Saves what was written, if anything was, and says where.
   * @param about the title of the request
   */
  save(about: string, drafts: Drafts, warn: (text: string) => void): void {
    if (this.#texts.length === 0) return;
    try {
      const file = drafts.save(unsentText(this.#texts), about);
      warn(`Your text was not sent. It is saved in ${sanitizeLine(file)}`);
    } catch (error) {
      // Then the terminal is the only place left.
      warn(`Your text was not sent, and it could not be saved: ${(error as Error).message}\n${unsentText(this.#texts)}`);
    }
  }
}

/** One text as it is; several under their questions. Pure. */
export function unsentText(texts: readonly Text[]): string {
  const [first, ...more] = texts;
  if (more.length === 0) return `${first?.text.trimEnd() ?? ''}\n`;
  return texts.map(({ question, text }) => `## ${question}\n\n${text.trimEnd()}\n`).join('\n');
}
