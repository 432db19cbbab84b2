/** Limits the number of streams, because each of them occupies a connection and some memory for as long as its reader likes. */
import { ServiceError } from '../errors.ts';

/** Seconds after which a client that was refused may retry. Meanwhile, it polls. */
const retryAfter = 30;

export class StreamSlots {
  readonly #limits: { total: number; perCredential: number };
  readonly #counts = new Map<string, number>();
  #total = 0;

  constructor(limits: { total: number; perCredential: number }) {
    this.#limits = limits;
  }

  /** The number of open streams. */
  get open(): number {
    return this.#total;
  }

  /** Takes a slot. The returned function gives it back; call it once. @throws ServiceError 429 `too_many_streams`, 503 `too_many_streams` */
  take(credentialId: string): () => void {
    const { total, perCredential } = this.#limits;
    const count = this.#counts.get(credentialId) ?? 0;
    if (count >= perCredential) throw refusal(429, `This credential has ${perCredential} event streams open, which is the limit.`);
    if (this.#total >= total) throw refusal(503, `The service has ${total} event streams open, which is its limit.`);
    this.#counts.set(credentialId, count + 1);
    this.#total += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#total -= 1;
      const remaining = (this.#counts.get(credentialId) ?? 1) - 1;
      if (remaining === 0) this.#counts.delete(credentialId);
      else this.#counts.set(credentialId, remaining);
    };
  }
}

const refusal = (status: 429 | 503, message: string): ServiceError =>
  new ServiceError(status, 'too_many_streams', `${message} Poll instead, or try again later.`, {
    headers: { 'Retry-After': String(retryAfter) },
  });
