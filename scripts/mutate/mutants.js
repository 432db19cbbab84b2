/**
 * The mutants of a source file: small changes that a test should notice. All of them are put into the file at once, each behind a
 * switch, so that the file is transformed once and any of them can be turned on in a running process.
 */
import { parseAst } from 'rolldown/parseAst';

/** The function that the switches call. It says whether a mutant is active, and records that it was reached. */
const switchName = '__aopsMutant';

const comparisons = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
};
const calls = { some: 'every', every: 'some', min: 'max', max: 'min' };
/** Functions of one argument whose absence is a mistake that still works. */
const guards = /^(sanitize|escape|redact|encode|guard|quote|trim|clamp)/i;

/** What builds a query once, for all its later executions. */
const builders = /\b(preparedQuery|cachedQuery|ExpressionBuilder|RawBuilder)\b/;

/**
 * The mutants of a source, in the order of their places; those inside others come after them. `isTopLevel` is true for those that act
 * while the module is loaded, and `isOnce` for those that may act in the first of several tests alone.
 */
export function mutantsOf(source) {
  const mutants = [];
  const lines = lineStarts(source);
  /** Functions around the current node. */
  let depth = 0;
  const isOnce = builders.test(source);
  const add = ({ start, end }, replacement) =>
    mutants.push({
      start,
      end,
      line: lineOf(lines, start),
      original: source.slice(start, end),
      replacement,
      isTopLevel: depth === 0,
      isOnce,
    });
  const text = ({ start, end }) => source.slice(start, end);
  /** Its operands keep their parentheses, which are not part of them. */
  const withOperator = ({ start, end, left, right, operator }, replacement) =>
    source.slice(start, left.end) + source.slice(left.end, right.start).replace(operator, replacement) + source.slice(right.start, end);
  const functions = {
    enter: () => {
      depth += 1;
    },
    leave: () => {
      depth -= 1;
    },
  };
  visit(parseAst(source, { lang: 'ts' }), functions, (node) => {
    switch (node.type) {
      case 'IfStatement':
      case 'ConditionalExpression':
        add(node.test, 'true');
        add(node.test, 'false');
        break;
      case 'WhileStatement':
        add(node.test, 'false');
        break;
      case 'LogicalExpression':
        add(node, text(node.left));
        add(node, text(node.right));
        break;
      case 'BinaryExpression':
        if (node.operator in comparisons && ![node.left, node.right].some(isText))
          add(node, withOperator(node, comparisons[node.operator]));
        break;
      case 'UnaryExpression':
        if (node.operator === '!') add(node, text(node.argument));
        break;
      case 'Literal':
        if (typeof node.value === 'boolean') add(node, String(!node.value));
        break;
      case 'CallExpression': {
        const { callee, arguments: callArguments } = node;
        const [onlyArgument] = callArguments;
        if (callee.type === 'Identifier' && callArguments.length === 1 && onlyArgument.type !== 'SpreadElement' && guards.test(callee.name))
          add(node, text(onlyArgument));
        if (callee.type === 'MemberExpression' && !callee.computed && Object.hasOwn(calls, callee.property.name))
          add(node, `${text(callee.object)}.${calls[callee.property.name]}${source.slice(callee.end, node.end)}`);
        break;
      }
      case 'ExpressionStatement':
        if (node.directive == null && node.expression.callee?.type !== 'Super') add(node, '');
        break;
      case 'ThrowStatement':
      case 'ContinueStatement':
        add(node, '');
        break;
      case 'ReturnStatement':
        if (node.argument === null) add(node, '');
        break;
      default:
    }
  });
  return mutants.filter(({ original, replacement }) => original !== replacement).sort((a, b) => a.start - b.start || b.end - a.end);
}

/** The source with every mutant behind its switch. `first` is the number of the first one. */
export function instrument(source, mutants, first) {
  /** Mutants by place, outermost first. */
  const places = [];
  for (const [index, mutant] of mutants.entries()) {
    const last = places.at(-1);
    if (last?.start === mutant.start && last.end === mutant.end) last.mutants.push([first + index, mutant]);
    else places.push({ start: mutant.start, end: mutant.end, mutants: [[first + index, mutant]] });
  }
  let next = 0;
  const render = (start, end) => {
    let output = '';
    let position = start;
    while (next < places.length && places[next].start < end) {
      const place = places[next];
      next += 1;
      output += source.slice(position, place.start) + switchBetween(place, render(place.start, place.end));
      position = place.end;
    }
    return output + source.slice(position, end);
  };
  return render(0, source.length);
}

function switchBetween({ mutants }, original) {
  const removal = mutants.find(([, { replacement }]) => replacement === '');
  if (removal) return `{if(!${switchName}(${removal[0]})){${original}}}`;
  const choices = mutants.map(([number, { replacement }]) => `${switchName}(${number})?(${replacement}):`);
  return `(${choices.join('')}(${original}))`;
}

/** Calls `found` for each node that is executed: types and the names of properties are not. */
function visit(node, functions, mutants) {
  if (node === null || typeof node !== 'object') return;
  if (Array.isArray(node)) {
    for (const child of node) visit(child, functions, mutants);
    return;
  }
  if (typeof node.type === 'string') {
    if (node.type.startsWith('TS') && !('expression' in node)) return;
    mutants(node);
  }
  const isFunction = /Function/.test(node.type) || (node.type === 'PropertyDefinition' && !node.static);
  if (isFunction) functions.enter();
  for (const [name, value] of Object.entries(node)) {
    if (['typeAnnotation', 'typeArguments', 'typeParameters', 'returnType', 'superTypeArguments', 'implements'].includes(name)) continue;
    if (name === 'key' && !node.computed) continue;
    if (value !== null && typeof value === 'object') visit(value, functions, mutants);
  }
  if (isFunction) functions.leave();
}

const isText = (node) =>
  node.type === 'TemplateLiteral' ||
  (node.type === 'Literal' && typeof node.value === 'string') ||
  (node.type === 'BinaryExpression' && (isText(node.left) || isText(node.right)));

function lineStarts(source) {
  const starts = [0];
  for (let index = source.indexOf('\n'); index >= 0; index = source.indexOf('\n', index + 1)) starts.push(index + 1);
  return starts;
}

const lineOf = (starts, place) => starts.findLastIndex((start) => start <= place) + 1;
