import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { interfaceVersion } from '../../src/base/version.ts';
import { NamedSchemas } from '../../src/interface/named-schemas.ts';
import { openApiDocument } from '../../src/interface/openapi.ts';
import { operation, operationGroups, operationIds } from '../../src/interface/operations.ts';
import { runStatuses, runStatusFilters } from '../../src/interface/run-status.ts';
import { Named, Uuid } from '../../src/interface/schemas/common.ts';
import { schemas, schemasOf } from '../../src/interface/schemas.ts';

type Json = Record<string, unknown>;

interface OpenApiDocument extends Json {
  operationId: string;
  tags: string[];
  summary: string;
  parameters?: ({ $ref: string } | { name: string; in: string; required: boolean; schema: Json })[];
  requestBody?: { required: boolean; content: Record<string, { schema: Json }> };
  responses: Record<string, Json>;
}

/** What only reads, with a body that says what: nothing to be done twice. */
const readsByPost: ReadonlySet<string> = new Set(['searchCases', 'probeMcpServer', 'checkMcpOAuth', 'checkAgent']);

/** As it goes over the wire. */
const document = JSON.parse(JSON.stringify(openApiDocument('https://agents.example.com'))) as Json & {
  info: Json;
  servers: Json[];
  components: { schemas: Record<string, Json> };
  tags: { name: string }[];
  paths: Record<string, Record<string, OpenApiDocument>>;
};

const describedOperations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, description]) => ({ path, method, description })),
);

function* walk(value: unknown, pointer = '#'): Generator<[string, Json]> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield [pointer, value as Json];
  for (const [name, part] of Object.entries(value)) yield* walk(part, `${pointer}/${name}`);
}

const resolve = (reference: string): unknown =>
  reference
    .slice(2)
    .split('/')
    .reduce<unknown>((part, name) => (part as Json | undefined)?.[name.replace(/~1/g, '/').replace(/~0/g, '~')], document);

describe('the OpenAPI document', () => {
  it('has the version of the interface', () => {
    expect(document).toMatchObject({ openapi: '3.1.0', info: { version: interfaceVersion } });
  });

  it('is valid according to the schema of OpenAPI 3.1', async () => {
    expect(await new Validator().validate(structuredClone(document))).toEqual({ valid: true });
  });

  it('has every operation once, at its path', () => {
    expect(describedOperations.map(({ description }) => description.operationId).sort()).toEqual([...operationIds].sort());
    for (const { path, method, description } of describedOperations) {
      const row = operation(description.operationId as (typeof operationIds)[number]);
      expect([path, method.toUpperCase(), description.summary]).toEqual([row.path, row.method, row.summary]);
      expect(Object.keys(description.responses)).toContain(String(row.success));
    }
  });

  it('has only references that resolve', () => {
    const references = [...walk(document)].filter(([, part]) => typeof part.$ref === 'string');
    expect(references.length).toBeGreaterThan(0);
    for (const [pointer, { $ref }] of references) expect(resolve($ref as string), `${pointer} -> ${$ref}`).toBeTypeOf('object');
  });

  it('declares every parameter of a path exactly once, and no others', () => {
    for (const { path, description } of describedOperations) {
      const parameters = (description.parameters ?? []).filter((parameter) => 'name' in parameter);
      const names = (location: string) => parameters.filter((parameter) => parameter.in === location).map(({ name }) => name);
      expect(names('path')).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
      expect(parameters.filter((parameter) => parameter.in === 'path').every(({ required }) => required)).toBe(true);
      const keys = parameters.map((parameter) => `${parameter.in} ${parameter.name}`);
      expect(new Set(keys).size).toBe(keys.length);
    }
  });

  it('accepts an idempotency key exactly for operations that change something', () => {
    for (const { method, description } of describedOperations) {
      const takesKey = (description.parameters ?? []).some(
        (parameter) => '$ref' in parameter && parameter.$ref.endsWith('/IdempotencyKey'),
      );
      expect([description.operationId, takesKey]).toEqual([
        description.operationId,
        method !== 'get' && !readsByPost.has(description.operationId),
      ]);
    }
  });

  it('has rate-limit headers for every response, and all errors for every operation', () => {
    for (const { description } of describedOperations) {
      for (const [status, answer] of Object.entries(description.responses)) {
        const resolvedAnswer = (typeof answer.$ref === 'string' ? resolve(answer.$ref) : answer) as {
          headers: Json;
          content: Json;
          description: string;
        };
        expect(Object.keys(resolvedAnswer.headers)).toEqual(
          expect.arrayContaining(['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']),
        );
        const { produces = 'application/json' } = operation(description.operationId as (typeof operationIds)[number]);
        expect(Object.keys(resolvedAnswer.content)).toEqual([status < '300' ? produces : 'application/json']);
        expect(resolvedAnswer.description, status).toBeTruthy();
      }
      expect(Object.keys(description.responses)).toEqual(expect.arrayContaining(['400', '401', '403', '404', '409', '429', '500']));
    }
  });

  it('has no body for operations without one, and says when a body is required', () => {
    for (const { method, description } of describedOperations) {
      const { body, optionalBody } = schemasOf(description.operationId as (typeof operationIds)[number]);
      expect(description.requestBody === undefined).toBe(body === undefined);
      if (method === 'get') expect(description.requestBody).toBeUndefined();
      if (optionalBody) expect(description.requestBody?.required).toBe(false);
    }
  });

  it('uses only declared tags', () => {
    const tags = document.tags.map(({ name }) => name);
    expect(tags).toEqual(Object.keys(operationGroups));
    for (const { description } of describedOperations) expect(tags).toEqual(expect.arrayContaining(description.tags));
  });

  it('is always the same, and contains nothing about a team', () => {
    expect(JSON.stringify(openApiDocument('https://agents.example.com'))).toBe(JSON.stringify(document));
  });

  it('contains the address of the service, even after it was saved', () => {
    expect(document.servers).toEqual([{ url: 'https://agents.example.com' }]);
    expect(JSON.stringify(document)).toContain('"tokenUrl":"https://agents.example.com/oauth/token"');
  });

  it('lists each resource once under its name, and refers to it', () => {
    const schemaNames = Object.keys(document.components.schemas);
    expect(schemaNames).toEqual(
      expect.arrayContaining([
        'Agent',
        'Artifact',
        'Build',
        'Case',
        'Connection',
        'Error',
        'HumanRequest',
        'Queue',
        'Run',
        'Schedule',
        'Webhook',
      ]),
    );
    const references = new Set([...walk(document)].map(([, { $ref }]) => $ref));
    for (const name of schemaNames) expect(references, name).toContain(`#/components/schemas/${name}`);
    const { getRun, listRuns } = Object.fromEntries(describedOperations.map(({ description }) => [description.operationId, description]));
    expect(getRun?.responses['200']).toMatchObject({
      content: { 'application/json': { schema: { properties: { run: { $ref: '#/components/schemas/Run' } } } } },
    });
    expect(JSON.stringify(listRuns)).toContain('"items":{"$ref":"#/components/schemas/RunListItem"}');
    expect(document.components.schemas.RunListItem).toMatchObject({ allOf: [{ $ref: '#/components/schemas/Run' }, { type: 'object' }] });
  });

  it('does not describe an object with three or more fields twice', () => {
    const seenOperations = new Map<string, string>();
    for (const [pointer, part] of walk(document)) {
      if (part.type !== 'object' || Object.keys((part.properties ?? {}) as Json).length < 3) continue;
      const text = JSON.stringify(part);
      expect(seenOperations.get(text), `${pointer} is the same as another`).toBeUndefined();
      seenOperations.set(text, pointer);
    }
  });

  it('contains the default values', () => {
    const defaultOf = (id: string, parameter: string): unknown => {
      const foundParameters = describedOperations.find(({ description }) => description.operationId === id)?.description.parameters ?? [];
      return (foundParameters.find((candidate) => 'name' in candidate && candidate.name === parameter) as { schema: Json } | undefined)
        ?.schema.default;
    };
    expect(defaultOf('listRuns', 'sort_order')).toBe('desc');
    expect(defaultOf('listCases', 'sort_by')).toBe('created_at');
    expect(defaultOf('listAgents', 'include_schedules')).toBe('false');
    expect(defaultOf('listSandboxFiles', 'path')).toBe('/workspace');
    expect(defaultOf('exportArtifactHtml', 'theme')).toBe('light');
  });

  it('contains no internals of the schema library, and only registered formats', () => {
    for (const [pointer, part] of walk(document)) {
      expect(Object.keys(part), pointer).not.toContain('$id');
      if (typeof part.format === 'string') expect(['uuid', 'date-time', 'uri'], pointer).toContain(part.format);
    }
  });

  it('rejects two different schemas with the same name', () => {
    const schemaNames = new NamedSchemas();
    schemaNames.withReferences(Named('Thing', { id: Uuid }));
    schemaNames.withReferences(Named('Thing', { id: Uuid }));
    expect(() => schemaNames.withReferences(Named('Thing', { name: Uuid }))).toThrow('Two different schemas are named Thing.');
  });

  it('has schemas whose required properties exist', () => {
    for (const [pointer, part] of walk(document)) {
      if (part.type !== 'object' || !Array.isArray(part.required)) continue;
      expect(Object.keys((part.properties ?? {}) as Json), pointer).toEqual(expect.arrayContaining(part.required as string[]));
    }
  });
});

describe('the table of operations', () => {
  it('has schemas for each operation, and no others', () => {
    expect(Object.keys(schemas).sort()).toEqual([...operationIds].sort());
  });

  it('has each ID, and each method of a path, only once', () => {
    const rows = Object.values(operationGroups).flatMap((group) => Object.entries(group));
    expect(new Set(rows.map(([id]) => id)).size).toBe(rows.length);
    expect(rows.length).toBe(operationIds.length);
    expect(new Set(rows.map(([, { method, path }]) => `${method} ${path.replace(/\{\w+\}/g, '{}')}`)).size).toBe(rows.length);
  });

  it('is well formed', () => {
    for (const id of operationIds) {
      const { method, path, idempotent, summary } = operation(id);
      expect(path, id).toMatch(/^\/v2(\/[a-z-]+|\/\{\w+\})+$/);
      expect(idempotent, id).toBe(method !== 'GET' && !readsByPost.has(id));
      expect(summary, id).toMatch(/^[A-Z].*[^.]$/);
    }
  });

  it('has limits for the numbers of every paged read', () => {
    for (const id of operationIds) {
      const { limit, offset } = (schemasOf(id).query?.properties ?? {}) as Record<string, Json>;
      if (limit) expect(limit, id).toMatchObject({ type: 'integer', minimum: 1, maximum: expect.any(Number), default: expect.any(Number) });
      if (offset) expect(offset, id).toMatchObject({ type: 'integer', minimum: 0 });
    }
  });
});

describe('the statuses of a run', () => {
  it('can all be used as filters', () => {
    expect(runStatusFilters).toEqual(expect.arrayContaining([...runStatuses]));
    expect(new Set(runStatusFilters).size).toBe(runStatusFilters.length);
  });
});
