/** Prints results as soon as they are known, in the order of the tests. */
import { pluralize } from '../../../base/pluralize.ts';
import { forPeople } from '../../../cli/kit/audience.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { widthFor, wrapWords } from '../../../terminal/width.ts';
import { indentation, testLines, type Wrap } from './report.ts';
import type { TestRow } from './rows.ts';

export interface Printer {
  print(index: number, row: TestRow): Promise<void>;
  end(): void;
}

/** @param options the number of tests, and whether each result is printed as JSON on a line */
export async function newPrinter(context: Context, { tests, streams }: { tests: number; streams: boolean }): Promise<Printer> {
  const { terminal } = context;
  const styles = await terminal.out.styles();
  const { statusLine } = await import('../../../terminal/progress.ts');
  const line = await statusLine(terminal);
  // The texts are not known yet, so all characters must be supported.
  const widthOf = await widthFor(['ä']);
  const width = Math.max(20, terminal.out.columns - indentation);
  const wrap: Wrap = terminal.out.isTTY ? (text) => wrapWords(text, width, widthOf) : (text) => [text];
  const ready = new Map<number, TestRow>();
  let next = 0;
  let previous: TestRow | undefined;
  let done = 0;
  line?.start(() => `${done} of ${pluralize(tests, 'test')}`);
  const write = async (row: TestRow): Promise<void> => {
    if (streams) await terminal.json(row);
    else if (forPeople(context)) for (const text of testLines(row, previous, styles, wrap)) await terminal.line(text);
    previous = row;
  };
  const printReady = async (): Promise<void> => {
    line?.hide();
    for (let current = ready.get(next); current !== undefined; current = ready.get(next)) {
      ready.delete(next);
      next += 1;
      await write(current);
    }
    line?.show();
  };
  let printing = Promise.resolve();
  return {
    print(index, row) {
      ready.set(index, row);
      done += 1;
      // One after the other: tests that end at the same time must not mix their lines.
      printing = printing.then(printReady);
      return printing;
    },
    end: () => line?.stop(),
  };
}
