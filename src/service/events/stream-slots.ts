/** Limits the number of streams, because each of them occupies a connection and some memory for as long as its reader likes. */
import { ServiceError } from '../errors.ts';

/** Seconds after which a client that was refused may retry. Meanwhile, it polls. */
const retryAfter = 30;

export class StreamSlots {
  readonly #limits: { total: number; perCredential: number };
  readonly #used = new Map<string, number>();
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
    const own = this.#used.get(credentialId) ?? 0;
    if (own >= perCredential) throw refusal(429, `This credential has ${perCredential} event streams open, which is the limit.`);
    if (this.#total >= total) throw refusal(503, `The service has ${total} event streams open, which is its limit.`);
    this.#used.set(credentialId, own + 1);
    this.#total += 1;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#total -= 1;
      const remaining = (this.#used.get(credentialId) ?? 1) - 1;
      if (remaining === 0) this.#used.delete(credentialId);
      else this.#used.set(credentialId, remaining);
    };
  }
}

const refusal = (status: 429 | 503, message: string): ServiceError =>
  new ServiceError(status, 'too_many_streams', `${message} Poll instead, or try again later.`, {
    headers: { 'Retry-After': String(retryAfter) },
  });
