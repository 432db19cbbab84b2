import { aliasOf, defineGroup } from '../../cli/kit/command.ts';

export const revisions = defineGroup({
  summary: 'Compare, change, and promote revisions of agents',
  commands: {
    list: () => import('./list.ts'),
    get: () => import('./get.ts'),
    create: () => import('./create.ts'),
    update: () => import('./update.ts'),
    promote: () => import('./promote.ts'),
    diff: () => import('./diff.ts'),
    generate: () => import('./generate.ts'),
    watch: () => import('./watch.ts'),
    'builder-run': () => import('./builder-run.ts'),
    respond: () => import('./respond.ts'),
    accept: () => import('./accept.ts'),
    decline: () => import('./decline.ts'),
    discard: () => import('./discard.ts'),
    answer: aliasOf('respond'),
    cancel: aliasOf('discard'),
    follow: aliasOf('watch'),
    stop: aliasOf('discard'),
  },
});
