import path from 'node:path';
import { expect, it } from 'vitest';
import { configure } from '../../../src/service/repositories/config.ts';
import { TestRepository } from '../../support/repository.ts';
import { temporaryDirectory } from '../../support/temporary.ts';

it('sets values in the configuration of a new repository, which git reads and can change', async () => {
  const repository = new TestRepository(await temporaryDirectory());
  await repository.git('init', '--quiet', '--bare', '--template=');
  await configure(repository.folder, { core: { bare: 'false', logAllRefUpdates: 'true' }, user: { email: 'aops-run-17@aops.invalid' } });
  const all = async (name: string) =>
    (await repository.git('config', '--file', path.join(repository.folder, 'config'), '--get-all', name)).trim();
  expect(await all('core.bare')).toBe('false');
  expect(await all('core.logAllRefUpdates')).toBe('true');
  expect(await all('user.email')).toBe('aops-run-17@aops.invalid');
  expect(await all('core.repositoryFormatVersion')).toMatch(/^\d$/);
  // It refuses to change a value that appears twice.
  await repository.git('config', '--file', path.join(repository.folder, 'config'), 'core.bare', 'true');
  expect(await all('core.bare')).toBe('true');
});
