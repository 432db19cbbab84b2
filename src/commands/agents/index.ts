import { defineGroup } from '../../cli/kit/command.ts';
import { acp } from './acp/index.ts';
import { memory } from './memory/index.ts';
import { rubrics } from './rubrics/index.ts';
import { schedules } from './schedules/index.ts';
import { secrets } from './secrets/index.ts';
import { triggers } from './triggers/index.ts';

export const agents = defineGroup({
  summary: 'Manage agents and their procedures',
  commands: {
    list: () => import('./list.ts'),
    get: () => import('./get.ts'),
    create: () => import('./create.ts'),
    update: () => import('./update.ts'),
    delete: () => import('./delete.ts'),
    check: () => import('./check.ts'),
    init: () => import('./init.ts'),
    edit: () => import('./edit.ts'),
    test: () => import('./test.ts'),
    acp,
    triggers,
    schedules,
    secrets,
    memory,
    rubrics,
  },
});
