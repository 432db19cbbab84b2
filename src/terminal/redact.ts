/** Live secrets, replaced by value in everything that goes to stderr: notes, errors, stack traces. */

/** Shorter values would hit ordinary words. */
const shortestSecret = 8;

export class SecretFilter {
  readonly #forms = new Set<string>();

  /** Remembers a secret together with the forms it travels in: base64 and URL-encoded. */
  add(secret: string): void {
    if (secret.length < shortestSecret) return;
    const base64 = Buffer.from(secret).toString('base64');
    for (const form of [secret, encodeURIComponent(secret), base64, base64.replace(/=+$/, ''), Buffer.from(secret).toString('base64url')]) {
      this.#forms.add(form);
    }
  }

  /** The text with every known secret replaced by `[secret]`. */
  apply(text: string): string {
    let result = text;
    // The longest first, so that a secret which is part of another leaves no remainder.
    for (const form of [...this.#forms].sort((a, b) => b.length - a.length)) result = result.replaceAll(form, '[secret]');
    return result;
  }
}
