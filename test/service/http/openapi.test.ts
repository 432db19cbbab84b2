import { expect, it } from 'vitest';
import { openApiDocument } from '../../../src/interface/openapi.ts';
import { operation, operationIds } from '../../../src/interface/operations.ts';
import { startApi } from '../helpers/service.ts';

interface OpenApiDocument {
  operationId: string;
  summary: string;
  parameters?: { name?: string; in?: string; $ref?: string }[];
  requestBody?: { required: boolean; content: Record<string, unknown> };
  responses: Record<string, unknown>;
}

const document = JSON.parse(JSON.stringify(openApiDocument('https://agents.example.com'))) as {
  paths: Record<string, Record<string, OpenApiDocument>>;
  components: Record<string, Record<string, unknown>>;
};
const text = JSON.stringify(document);

it('describes every operation once, with all its parameters', () => {
  const describedOperations = Object.values(document.paths).flatMap((path) => Object.values(path));
  expect(describedOperations.map(({ operationId }) => operationId).sort()).toEqual([...operationIds].sort());
  for (const id of operationIds) {
    const row = operation(id);
    const entry = document.paths[row.path]?.[row.method.toLowerCase()] as OpenApiDocument;
    const inPath = (entry.parameters ?? []).filter((parameter) => parameter.in === 'path').map(({ name }) => `{${name}}`);
    expect(inPath).toEqual(row.path.match(/\{\w+\}/g) ?? []);
    expect(entry.parameters?.some(({ $ref }) => $ref?.endsWith('/IdempotencyKey')) ?? false).toBe(row.idempotent);
    expect(Object.keys(entry.responses)).toEqual(
      expect.arrayContaining([String(row.success), '400', '401', '403', '404', '409', '429', '500']),
    );
  }
});

it('only refers to schemas that it contains', () => {
  for (const [, section, name] of text.matchAll(/"#\/components\/(\w+)\/([\w-]+)"/g))
    expect(document.components[section as string]).toHaveProperty([name as string]);
  expect(document.paths['/v2/sandboxes/{sandbox_id}/files']?.post?.requestBody?.content).toHaveProperty(['multipart/form-data']);
});

it('is served without a credential, and contains the address it was read from, or the public one', async () => {
  const plain = await startApi();
  const answer = await plain.send('GET', '/v2/openapi.json', { anonymous: true });
  expect(answer.body).toEqual(JSON.parse(JSON.stringify(openApiDocument(plain.service.url))));
  const publishedApi = await startApi({ publicUrl: 'https://agents.example.com' });
  expect((await publishedApi.send('GET', '/v2/openapi.json', { anonymous: true })).body).toMatchObject({
    servers: [{ url: 'https://agents.example.com' }],
  });
});
