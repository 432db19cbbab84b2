import { defineGroup } from '../../cli/kit/command.ts';

export const mcp = defineGroup({
  summary: 'Use the tools of the service with MCP clients',
  commands: {
    tools: () => import('./tools.ts'),
    describe: () => import('./describe.ts'),
    call: () => import('./call.ts'),
    request: () => import('./request.ts'),
    serve: () => import('./serve.ts'),
    config: () => import('./config.ts'),
    install: () => import('./install/install.ts'),
  },
});
