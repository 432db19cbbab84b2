/** Redacts secrets by value in everything that goes to stderr: notes, errors, stack traces. */

/** Shorter values could match ordinary words. */
const minSecretLength = 8;

export class SecretFilter {
  readonly #forms = new Set<string>();

  /** Adds a secret together with its usual encodings: base64 and URL-encoded. */
  add(secret: string): void {
    if (secret.length < minSecretLength) return;
    const base64 = Buffer.from(secret).toString('base64');
    for (const form of [secret, encodeURIComponent(secret), base64, base64.replace(/=+$/, ''), Buffer.from(secret).toString('base64url')]) {
      this.#forms.add(form);
    }
  }

  /** The text with every known secret replaced by `[secret]`. */
  apply(text: string): string {
    let result = text;
    // The longest first, so that a secret contained in another one leaves no remainder.
    for (const form of [...this.#forms].sort((a, b) => b.length - a.length)) result = result.replaceAll(form, '[secret]');
    return result;
  }
}
