import { UsageError } from '../../base/errors.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { argument } from '../../cli/kit/flags.ts';
import { completionScripts, type Shell, shells } from './scripts.ts';

export default defineCommand({
  summary: 'Print a shell completion script',
  arguments: { shell: argument(shells.join(', '), { complete: 'shells' }) },
  examples: [
    { command: 'source <(aops completion bash)', text: 'Load completion for bash; add the line to ~/.bashrc to make it permanent' },
    { command: 'source <(aops completion zsh)', text: 'Load completion for zsh; add the line to ~/.zshrc after compinit' },
    { command: 'aops completion fish > ~/.config/fish/completions/aops.fish', text: 'Install completion for fish' },
    { command: 'aops completion powershell | Out-String | Invoke-Expression', text: 'Load completion for PowerShell' },
  ],
  async run(context, input) {
    if (!shells.includes(input.shell as Shell))
      throw new UsageError(`Completion does not support the shell "${input.shell}".`, `Supported shells: ${shells.join(', ')}.`);
    await context.terminal.data(completionScripts[input.shell as Shell]);
  },
});
