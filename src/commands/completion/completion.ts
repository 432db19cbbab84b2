import { UsageError } from '../../base/errors.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { argument } from '../../cli/kit/flags.ts';
import { completionScripts, type Shell, shells } from './scripts.ts';

export default defineCommand({
  summary: 'Print a shell completion script',
  arguments: { shell: argument(shells.join(', '), { complete: 'shells' }) },
  examples: [
    { command: 'source <(aops completion bash)', text: 'bash, for this shell; put the line into ~/.bashrc to keep it' },
    { command: 'source <(aops completion zsh)', text: 'zsh; put the line into ~/.zshrc after compinit' },
    { command: 'aops completion fish > ~/.config/fish/completions/aops.fish', text: 'fish' },
    { command: 'aops completion powershell | Out-String | Invoke-Expression', text: 'PowerShell' },
  ],
  async run(context, input) {
    if (!shells.includes(input.shell as Shell))
      throw new UsageError(`There is no completion for "${input.shell}".`, `Shells: ${shells.join(', ')}.`);
    await context.terminal.data(completionScripts[input.shell as Shell]);
  },
});
