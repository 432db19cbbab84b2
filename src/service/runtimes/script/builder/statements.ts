/**
 * A request in words, cut into statements. What is quoted stands for itself: it is taken out first, so that no word in it
 * is read as part of the request. A statement may have YAML below it.
 */
import { isMap, isScalar, isSeq, parseDocument, type YAMLMap } from 'yaml';
import { maskQuotes, type Quote, unmask } from '../../../words/quotes.ts';
import { stepKinds } from '../schema.ts';

export interface Statement {
  /** As it was written, on one line. */
  readonly text: string;
  /** In lower case and without quotes: every quoted text is a mark. */
  readonly words: string;
  /** As `words`, in the case it was written in. */
  readonly spelled: string;
  /** What the marks stand for. */
  readonly quotes: readonly Quote[];
  /** Steps that are given as YAML. */
  readonly yaml: readonly YAMLMap[] | undefined;
}

const verbs =
  'add|insert|put|append|remove|delete|drop|replace|rename|move|swap|set|change|make|give|only|always|say|ask for|run|write|wait|describe|schedule';
const boundary = new RegExp(`\\s*;\\s*|[.!?](?=\\s|$)|,?\\s+(?:and\\s+)?then\\s+|,?\\s+and\\s+(?=(?:${verbs})\\b)`, 'i');
const polite =
  /^(?:please|also|and|then|now|first|finally|next|lastly|kindly|i want you to|i would like you to|can you|could you|you should|we should|let's|let us)\b[,:]?\s*/i;
const empty = /^(?:please|thanks|thank you|hi|hello|hey|make the following changes|changes)?[\s,.!:]*$/i;

/** The statements of a request, in their order. */
export function readStatements(request: string): Statement[] {
  const quotes: Quote[] = [];
  const statements: Statement[] = [];
  for (const { line, block } of logicalLines(request.replaceAll('\r\n', '\n').replaceAll(/[\uE000\uE001]/g, ''))) {
    const parts = maskQuotes(line, quotes)
      .replace(/^\s*(?:[-*•]|\d+[.)])\s+/, '')
      .split(boundary)
      .map(cleaned)
      .filter((part) => !empty.test(part));
    for (const [index, spelled] of parts.entries()) {
      const yaml = index === parts.length - 1 ? block : undefined;
      statements.push({ text: unmask(spelled, quotes, true), words: spelled.toLowerCase(), spelled, quotes, yaml });
    }
  }
  return statements;
}

function cleaned(part: string): string {
  let text = part.trim();
  for (let next = text.replace(polite, ''); next !== text; next = next.replace(polite, '')) text = next;
  return text.replace(/[\s,:]*(?:,?\s*please)?[\s,.:]*$/i, '');
}

/** Lines, each with the YAML below it if there is any. A list below a line that is not YAML of steps is lines of its own. */
function logicalLines(request: string): { line: string; block: YAMLMap[] | undefined }[] {
  const lines = request.split('\n');
  const result: { line: string; block: YAMLMap[] | undefined }[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] as string;
    let end = at + 1;
    // A fence may open at the end of the line or on the next one.
    const here = /^(.*\S.*?)\s*```\w*\s*$/.exec(line)?.[1];
    const fenced = here !== undefined || /^\s*```/.test(lines[end] ?? '');
    const opened = here === undefined ? at + 1 : at;
    if (fenced) {
      end = lines.findIndex((other, index) => index > opened && /^\s*```\s*$/.test(other));
      end = end < 0 ? lines.length : end + 1;
    } else if (line.trimEnd().endsWith(':')) {
      while (end < lines.length && /^(?:\s|-\s|$)/.test(lines[end] as string)) end += 1;
    }
    const below = fenced ? lines.slice(opened + 1, end - 1) : lines.slice(at + 1, end);
    const block = below.some((text) => text.trim() !== '') ? stepsIn(below.join('\n')) : undefined;
    result.push({ line: block === undefined ? line : (here ?? line), block });
    if (block !== undefined) at = end - 1;
    // An introduction to a list of requests asks for nothing itself.
    else if (below.some((text) => /^\s*[-*]\s/.test(text)) && line.trimEnd().endsWith(':')) result.pop();
  }
  return result;
}

/** The steps that a piece of YAML describes; undefined when it is something else. */
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
