import { aliasOf, defineGroup } from '../../cli/kit/command.ts';
import { connections } from './connections/index.ts';

export const artifacts = defineGroup({
  summary: 'Create and share pages built from team data',
  commands: {
    list: () => import('./list.ts'),
    create: () => import('./create.ts'),
    get: () => import('./get.ts'),
    update: () => import('./update.ts'),
    delete: () => import('./delete.ts'),
    send: () => import('./send.ts'),
    watch: () => import('./watch.ts'),
    respond: () => import('./respond.ts'),
    messages: () => import('./messages.ts'),
    stop: () => import('./stop.ts'),
    refresh: () => import('./refresh.ts'),
    publish: () => import('./publish.ts'),
    duplicate: () => import('./duplicate.ts'),
    revisions: () => import('./revisions.ts'),
    restore: () => import('./restore.ts'),
    render: () => import('./render.ts'),
    export: () => import('./export.ts'),
    open: () => import('./open.ts'),
    connections,
    answer: aliasOf('respond'),
    cancel: aliasOf('stop'),
    message: aliasOf('send'),
  },
});
