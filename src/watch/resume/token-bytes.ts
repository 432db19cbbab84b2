/** The bytes of a resume token: whole numbers in as few bytes as they need, texts, and IDs, of which UUIDs take 16 bytes. */

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export class TokenWriter {
  readonly #parts: Buffer[] = [];

  /** A whole number from 0 to 2^53 - 1, in groups of seven bits, the lowest first. */
  number(value: number): this {
    const groups: number[] = [];
    let remaining = value;
    for (; remaining > 0x7f; remaining = Math.floor(remaining / 0x80)) groups.push((remaining % 0x80) | 0x80);
    groups.push(remaining);
    return this.bytes(Buffer.from(groups));
  }

  text(value: string): this {
    const encoded = Buffer.from(value, 'utf8');
    return this.number(encoded.length).bytes(encoded);
  }

  /** A UUID as its bytes after a zero, or any other text after its length plus one. */
  id(value: string): this {
    if (uuidForm.test(value)) return this.number(0).bytes(Buffer.from(value.replaceAll('-', ''), 'hex'));
    const encoded = Buffer.from(value, 'utf8');
    return this.number(encoded.length + 1).bytes(encoded);
  }

  bytes(value: Buffer): this {
    this.#parts.push(value);
    return this;
  }

  end(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

/** Reads what a `TokenWriter` wrote. Every method throws a RangeError when the bytes end too early. */
export class TokenReader {
  readonly #bytes: Buffer;
  #offset = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#offset === this.#bytes.length;
  }

  number(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 0x80) {
      const group = this.#take(1)[0] as number;
      value += (group & 0x7f) * factor;
      if (value > Number.MAX_SAFE_INTEGER) throw new RangeError('The number is too large.');
      if (group < 0x80) return value;
    }
  }

  text(): string {
    return this.#take(this.number()).toString('utf8');
  }

  id(): string {
    const length = this.number();
    if (length > 0) return this.#take(length - 1).toString('utf8');
    const hex = this.#take(16).toString('hex');
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
  }

  #take(length: number): Buffer {
    const end = this.#offset + length;
    if (end > this.#bytes.length) throw new RangeError('The bytes end too early.');
    const taken = this.#bytes.subarray(this.#offset, end);
    this.#offset = end;
    return taken;
  }
}
