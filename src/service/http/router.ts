/** From a request line to an operation and its parameters. */
import { type OperationId, operation, operationIds } from '../../interface/operations.ts';
import { ServiceError } from '../errors.ts';

export interface Match {
  id: OperationId;
  params: Record<string, string>;
}

interface Node {
  readonly literals: Map<string, Node>;
  parameter: Node | undefined;
  /** Operations whose last parameter is the rest of the path, by method. */
  readonly rest: Map<string, { id: OperationId; names: string[] }>;
  /** By method. Operations that share a path may name its parameters differently. */
  readonly operations: Map<string, { id: OperationId; names: string[] }>;
}

const newNode = (): Node => ({ literals: new Map(), parameter: undefined, rest: new Map(), operations: new Map() });

export class Router {
  readonly #root = newNode();

  constructor(ids: readonly OperationId[] = operationIds) {
    for (const id of ids) this.#add(id);
  }

  /** Throws 404 `route_not_found`, 405 `method_not_allowed` with the Allow header. */
  match(method: string, segments: readonly string[]): Match {
    const match = walk(this.#root, segments, []);
    if (match === undefined) throw routeNotFound();
    const { operations, values } = match;
    const target = operations.get(method === 'HEAD' ? 'GET' : method);
    if (target === undefined) throw methodNotAllowed([...operations.keys()]);
    return { id: target.id, params: Object.fromEntries(target.names.map((name, index) => [name, values[index] as string])) };
  }

  #add(id: OperationId): void {
    const { method, path, rest } = operation(id);
    const names: string[] = [];
    let node = this.#root;
    const segments = path.slice(1).split('/');
    for (const [index, segment] of segments.entries()) {
      const name = /^\{(\w+)\}$/.exec(segment)?.[1];
      if (rest && index === segments.length - 1) {
        node.rest.set(method, { id, names: [...names, name as string] });
        return;
      }
      let next = name === undefined ? node.literals.get(segment) : node.parameter;
      if (next === undefined) {
        next = newNode();
        if (name === undefined) node.literals.set(segment, next);
        else node.parameter = next;
      }
      if (name !== undefined) names.push(name);
      node = next;
    }
    node.operations.set(method, { id, names });
  }
}

/** Fixed segments take precedence over parameters; if they lead nowhere, parameters are tried, and last a parameter for the rest of the path. */
function walk(
  node: Node,
  segments: readonly string[],
  values: string[],
): { operations: ReadonlyMap<string, { id: OperationId; names: string[] }>; values: string[] } | undefined {
  const [segment, ...rest] = segments;
  if (segment === undefined) return node.operations.size > 0 ? { operations: node.operations, values } : undefined;
  const child = node.literals.get(segment);
  const match = child && walk(child, rest, values);
  if (match !== undefined) return match;
  // Empty parameters, `.` and `..` do not name anything.
  const isName = (part: string): boolean => part !== '' && part !== '.' && part !== '..';
  const parameterMatch = node.parameter && isName(segment) ? walk(node.parameter, rest, [...values, segment]) : undefined;
  if (parameterMatch !== undefined) return parameterMatch;
  return node.rest.size > 0 && segments.every(isName) ? { operations: node.rest, values: [...values, segments.join('/')] } : undefined;
}

/** The decoded segments of a path, which starts with a slash. Throws 400 for an invalid escape. */
export function pathSegments(path: string): string[] {
  try {
    return path.slice(1).split('/').map(decodeURIComponent);
  } catch {
    throw new ServiceError(400, 'invalid_request', 'The path contains an invalid percent escape.');
  }
}

export const routeNotFound = (): ServiceError => new ServiceError(404, 'route_not_found', 'There is nothing at this path.');

export function methodNotAllowed(methods: string[]): ServiceError {
  const allowedMethods = methods.includes('GET') ? ['HEAD', ...methods] : methods;
  const Allow = [...new Set(allowedMethods)].sort().join(', ');
  return new ServiceError(405, 'method_not_allowed', `This path supports ${Allow}.`, { headers: { Allow } });
}
