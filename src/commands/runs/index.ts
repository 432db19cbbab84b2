import { aliasOf, defineGroup } from '../../cli/kit/command.ts';

export const runs = defineGroup({
  summary: 'Start, watch, answer and stop runs',
  commands: {
    list: () => import('./list.ts'),
    get: () => import('./get.ts'),
    start: () => import('./start.ts'),
    rerun: () => import('./rerun.ts'),
    watch: () => import('./watch.ts'),
    wait: () => import('./wait.ts'),
    respond: () => import('./respond.ts'),
    send: () => import('./send.ts'),
    stop: () => import('./stop.ts'),
    messages: () => import('./messages.ts'),
    detail: () => import('./detail.ts'),
    evaluation: () => import('./evaluation.ts'),
    report: () => import('./report.ts'),
    export: () => import('./export.ts'),
    pages: () => import('./pages.ts'),
    files: () => import('./files.ts'),
    screenshots: () => import('./screenshots.ts'),
    answer: aliasOf('respond'),
    cancel: aliasOf('stop'),
    follow: aliasOf('watch'),
    message: aliasOf('send'),
  },
});
