/** A request as statements, each of which can have YAML below it. */
import { isMap, isScalar, isSeq, parseDocument, type YAMLMap } from 'yaml';
import type { Quote } from '../../../words/quotes.ts';
import { boundaryOr, normalize, type Statement, statementsOfLine } from '../../../words/statements.ts';
import { stepKinds } from '../schema.ts';

export interface BuilderStatement extends Statement {
  /** Steps that are written as YAML. */
  readonly yaml: readonly YAMLMap[] | undefined;
}

const verbs =
  'add|insert|put|append|remove|delete|drop|replace|rename|move|swap|set|change|make|give|only|always|say|ask for|run|write|wait|describe|schedule';
const boundary = boundaryOr(`,?\\s+and\\s+(?=(?:${verbs})\\b)`);

/** The statements of a request, in their order. */
export function readStatements(request: string): BuilderStatement[] {
  const quotes: Quote[] = [];
  return logicalLines(normalize(request)).flatMap(({ line, block }) => {
    const statements = statementsOfLine(line, quotes, boundary);
    return statements.map((statement, index) => ({ ...statement, yaml: index === statements.length - 1 ? block : undefined }));
  });
}

/** The lines of a request, each with the YAML below it. A list that is not YAML of steps consists of lines of its own. */
function logicalLines(request: string): { line: string; block: YAMLMap[] | undefined }[] {
  const lines = request.split('\n');
  const result: { line: string; block: YAMLMap[] | undefined }[] = [];
  for (let lineIndex = 0; lineIndex < lines.length; lineIndex += 1) {
    const line = lines[lineIndex] as string;
    let end = lineIndex + 1;
    // A fence can open at the end of the line or on the next one.
    const opener = /^(.*\S.*?)\s*```\w*\s*$/.exec(line)?.[1];
    const isFenced = opener !== undefined || /^\s*```/.test(lines[end] ?? '');
    const fenceStart = opener === undefined ? lineIndex + 1 : lineIndex;
    if (isFenced) {
      end = lines.findIndex((other, index) => index > fenceStart && /^\s*```\s*$/.test(other));
      end = end < 0 ? lines.length : end + 1;
    } else if (line.trimEnd().endsWith(':')) {
      while (end < lines.length && /^(?:\s|-\s|$)/.test(lines[end] as string)) end += 1;
    }
    const blockLines = isFenced ? lines.slice(fenceStart + 1, end - 1) : lines.slice(lineIndex + 1, end);
    const block = blockLines.some((text) => text.trim() !== '') ? stepsIn(blockLines.join('\n')) : undefined;
    result.push({ line: block === undefined ? line : (opener ?? line), block });
    if (block !== undefined) lineIndex = end - 1;
    // The introduction to a list of requests does not ask for anything itself.
    else if (blockLines.some((text) => /^\s*[-*]\s/.test(text)) && line.trimEnd().endsWith(':')) result.pop();
  }
  return result;
}

/** The steps that YAML describes; undefined when it describes something else. */
export function stepsIn(text: string): YAMLMap[] | undefined {
  const document = parseDocument(text.replace(/^\n+/, ''));
  if (document.errors.length > 0) return undefined;
  let node: unknown = document.contents;
  if (isMap(node) && isSeq(node.get('steps'))) node = node.get('steps');
  const items = isSeq(node) ? node.items : [node];
  const steps = items.filter(
    (item): item is YAMLMap => isMap(item) && item.items.some(({ key }) => isScalar(key) && stepKinds.includes(key.value as never)),
  );
  return steps.length > 0 && steps.length === items.length ? steps : undefined;
}
