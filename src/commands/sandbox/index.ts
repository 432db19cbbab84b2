import { aliasOf, defineGroup } from '../../cli/kit/command.ts';

export const sandbox = defineGroup({
  summary: 'Manage the files of runs',
  commands: {
    create: () => import('./create.ts'),
    push: () => import('./push.ts'),
    ls: () => import('./ls.ts'),
    tree: () => import('./tree.ts'),
    cat: () => import('./cat.ts'),
    pull: () => import('./pull.ts'),
    diff: () => import('./diff.ts'),
    apply: () => import('./apply.ts'),
    list: aliasOf('ls'),
  },
});
