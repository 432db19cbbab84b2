/** One resource with many fields, in titled sections; off a terminal, `key<TAB>value` lines without the titles. */
import { cellText, type View } from './cell.ts';
import { type Field, renderRecord } from './record.ts';
import { plainStyles } from './style.ts';

export interface Section {
  title: string;
  /** A section whose fields are all undefined is left out. */
  fields: readonly Field[];
}

const indent = '  ';

/** The sheet as text that ends in a line feed. All values of a sheet start in the same column. */
export async function renderSheet(sections: readonly Section[], view: View): Promise<string> {
  const visibleSections = sections
    .map(({ title, fields }) => ({ title, fields: fields.filter(({ value }) => value !== undefined) }))
    .filter(({ fields }) => fields.length > 0);
  if (!view.tty)
    return renderRecord(
      visibleSections.flatMap(({ fields }) => fields),
      view,
    );
  const { bold } = view.styles ?? plainStyles;
  const labelWidth = Math.max(0, ...visibleSections.flatMap(({ fields }) => fields.map(({ label }) => label.length)));
  const parts = visibleSections.map(async ({ title, fields }) => {
    const record = await renderRecord(fields, { ...view, width: view.width - indent.length }, labelWidth + 2);
    return `${bold(cellText(title, view))}\n${record.trimEnd().replace(/^/gm, indent)}\n`;
  });
  return (await Promise.all(parts)).join('\n');
}
