/** The texts that a person wrote for one request, so that they can be saved if they are not sent. */
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
   * Saves the texts, if there are any, and reports the file.
   * @param title the title of the request
   */
  save(title: string, drafts: Drafts, warn: (text: string) => void): void {
    if (this.#texts.length === 0) return;
    try {
      const file = drafts.save(unsentText(this.#texts), title);
      warn(`Your text was not sent. It is saved in ${sanitizeLine(file)}`);
    } catch (error) {
      // The terminal is then the only place left for them.
      warn(`Your text was not sent, and it could not be saved: ${(error as Error).message}\n${unsentText(this.#texts)}`);
    }
  }
}

/** One text unchanged; several texts under their questions. Pure. */
export function unsentText(texts: readonly Text[]): string {
  const [firstText, ...otherTexts] = texts;
  if (otherTexts.length === 0) return `${firstText?.text.trimEnd() ?? ''}\n`;
  return texts.map(({ question, text }) => `## ${question}\n\n${text.trimEnd()}\n`).join('\n');
}
