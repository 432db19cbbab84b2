/**
 * A filter for system calls, for what namespaces do not separate: the key rings of the kernel. A program could otherwise use the keys of
 * the session in which the service was started. See seccomp(2) and keyrings(7).
 */
import { arch } from 'node:os';

/** An architecture, as the kernel identifies it (AUDIT_ARCH_*), and its numbers of add_key, request_key, and keyctl. */
interface Architecture {
  id: number;
  refused: readonly number[];
}

/** The architectures whose programs a processor executes, by its name in Node: programs of 32 bits have numbers of their own. */
const architectures: Readonly<Record<string, readonly Architecture[]>> = {
  x64: [
    { id: 0xc000_003e, refused: [248, 249, 250] },
    { id: 0x4000_0003, refused: [286, 287, 288] },
  ],
  arm64: [
    { id: 0xc000_00b7, refused: [217, 218, 219] },
    { id: 0x4000_0028, refused: [309, 310, 311] },
  ],
};

/** Instructions of classic BPF (linux/bpf_common.h): [code, jump if true, jump if false, operand]. */
type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, operand: number];
const load = (offset: number): Instruction => [0x20, 0, 0, offset];
const and = (mask: number): Instruction => [0x54, 0, 0, mask];
/** Skips instructions unless the loaded value is equal. */
const unlessEqual = (value: number, skip: number): Instruction => [0x15, 0, skip, value];
const result = (action: number): Instruction => [0x06, 0, 0, action];

/** The offsets of the number and of the architecture in `struct seccomp_data`. */
const [numberOffset, architectureOffset] = [0, 4];
const allow = result(0x7fff_0000);
/** SECCOMP_RET_ERRNO with EPERM. */
const refuse = result(0x0005_0001);
/** Without the bit that distinguishes programs of the x32 ABI, whose numbers are otherwise the same. */
const numberMask = 0xbfff_ffff;

/** The filter in the format in which bubblewrap reads it; undefined for a processor whose numbers are not listed here. */
export function systemCallFilter(processor: string = arch()): Buffer | undefined {
  const filters = architectures[processor];
  if (filters === undefined) return undefined;
  const blocks = filters.flatMap(({ id, refused }): Instruction[] => {
    const checks = refused.flatMap((number) => [unlessEqual(number, 1), refuse]);
    const block = [load(numberOffset), and(numberMask), ...checks, allow];
    return [unlessEqual(id, block.length), ...block];
  });
  return encode([load(architectureOffset), ...blocks, allow]);
}

/** An array of `struct sock_filter` in the byte order of the listed processors. */
function encode(instructions: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(instructions.length * 8);
  for (const [index, [code, ifTrue, ifFalse, operand]] of instructions.entries()) {
    const offset = index * 8;
    bytes.writeUInt16LE(code, offset);
    bytes.writeUInt8(ifTrue, offset + 2);
    bytes.writeUInt8(ifFalse, offset + 3);
    bytes.writeUInt32LE(operand, offset + 4);
  }
  return bytes;
}
