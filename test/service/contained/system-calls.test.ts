import { expect, it } from 'vitest';
import { systemCallFilter } from '../../../src/service/contained/system-calls.ts';

const [allowed, refused] = [0x7fff_0000, 0x0005_0001];

/** What the kernel does with a filter: the result for a system call. */
function resultOf(filter: Buffer, architecture: number, number: number): number {
  let value = 0;
  for (let index = 0; index * 8 < filter.length; index++) {
    const offset = index * 8;
    const operand = filter.readUInt32LE(offset + 4);
    switch (filter.readUInt16LE(offset)) {
      case 0x20:
        value = operand === 0 ? number : architecture;
        break;
      case 0x54:
        value = (value & operand) >>> 0;
        break;
      case 0x15:
        index += filter.readUInt8(offset + (value === operand ? 2 : 3));
        break;
      case 0x06:
        return operand;
      default:
        throw new Error('The kernel would reject this instruction.');
    }
  }
  throw new Error('The kernel would reject a filter without an end.');
}

const x32 = 0x4000_0000;

it.each([
  ['x64', 0xc000_003e, [248, 249, 250, x32 + 248, x32 + 249, x32 + 250], [0, 1, 247, 251, 286, 435]],
  ['x64', 0x4000_0003, [286, 287, 288], [1, 248, 250, 285, 289]],
  ['arm64', 0xc000_00b7, [217, 218, 219], [0, 216, 220, 250]],
  ['arm64', 0x4000_0028, [309, 310, 311], [1, 219, 308, 312]],
] as const)('refuses the key rings, and nothing else (%s, %i)', (processor, architecture, keyCalls, otherCalls) => {
  const filter = systemCallFilter(processor) as Buffer;
  expect(keyCalls.map((number) => resultOf(filter, architecture, number))).toEqual(keyCalls.map(() => refused));
  expect(otherCalls.map((number) => resultOf(filter, architecture, number))).toEqual(otherCalls.map(() => allowed));
});

it('does not exist for a processor whose numbers are not known', () => {
  expect(systemCallFilter('riscv64')).toBeUndefined();
});
