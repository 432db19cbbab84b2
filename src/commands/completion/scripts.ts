/**
 * The completion scripts. They only call `aops __complete` for the candidates at the cursor, so they never become outdated. The same
 * texts are in completions/ of the package.
 */

export const shells = ['bash', 'zsh', 'fish', 'powershell'] as const;
export type Shell = (typeof shells)[number];

const bash = `# bash completion for aops. Load it with: source <(aops completion bash)
_aops() {
  local line word i kind="" rest="$COMP_LINE" cut=""
  local -a words=()
  # bash splits words at @ and : too. Parts without white space between them form one word.
  for (( i = 0; i <= COMP_CWORD; i++ )); do
    word="\${COMP_WORDS[i]}"
    if (( i > 0 )) && [[ "$rest" != [[:space:]]* && ( "$word" == [@:]* || "\${COMP_WORDS[i-1]}" == *[@:] ) ]]; then
      words[\${#words[@]}-1]+="$word"
    else
      rest="\${rest#"\${rest%%[![:space:]]*}"}"
      words+=("$word")
    fi
    rest="\${rest#"$word"}"
  done
  local current="\${words[\${#words[@]}-1]}"
  # bash replaces only the part after the last colon or from the last @, so the part before it is removed from the candidates.
  case "$current" in
    *:*) cut="\${current%"\${current##*:}"}" ;;
    *@*) cut="\${current%@*}" ;;
  esac
  COMPREPLY=()
  while IFS= read -r line; do
    case "$line" in
      :files|:directories) kind="$line" ;;
      *) word="\${line%%$'\\t'*}"; COMPREPLY+=("$(printf '%q' "\${word#"$cut"}")") ;;
    esac
  done < <(aops __complete -- "\${words[@]:1}" 2>/dev/null)
  case "$kind" in
    :files) compopt -o filenames 2>/dev/null; while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$current") ;;
    :directories) compopt -o filenames 2>/dev/null; while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "$current") ;;
  esac
}
complete -F _aops aops
`;

const zsh = `#compdef aops
# zsh completion for aops. Load it with: source <(aops completion zsh), or put it in a folder of $fpath as _aops
_aops() {
  local line kind="" word summary
  local -a described
  while IFS= read -r line; do
    case "$line" in
      :files|:directories) kind="$line" ;;
      *)
        word="\${line%%$'\\t'*}"
        summary="\${line#*$'\\t'}"
        # A colon ends the word, so colons and backslashes in words are escaped.
        word="\${word//\\\\/\\\\\\\\}"
        described+=("\${word//:/\\\\:}:$summary")
        ;;
    esac
  # The words without their quotes; PREFIX is the last word up to the cursor, without an unclosed quote.
  done < <(aops __complete -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null)
  (( \${#described} )) && _describe 'aops' described
  case "$kind" in
    :files) _files ;;
    :directories) _files -/ ;;
  esac
}
if [ "\${funcstack[1]}" = "_aops" ]; then _aops "$@"; else compdef _aops aops; fi
`;

const fish = `# fish completion for aops. Load it with: aops completion fish | source
function __aops_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    # The same word without quotes, including an unclosed one.
    set -l plain (commandline -oct)
    for line in (aops __complete -- $words[2..] "$plain" 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path "$current"
            case ':directories'
                __fish_complete_directories "$current"
            case '*'
                echo $line
        end
    end
end
complete -c aops -f -a '(__aops_complete)'
`;

const powershell = `# PowerShell completion for aops. Load it with: aops completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName aops -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
    if ($wordToComplete -eq '') { $words += '' }
    & aops __complete '--' @words 2>$null | ForEach-Object {
        if ($_ -eq ':files' -or $_ -eq ':directories') {
            $kind = if ($_ -eq ':directories') { @{ Directory = $true } } else { @{} }
            Get-ChildItem -Path "$wordToComplete*" @kind | ForEach-Object {
                [System.Management.Automation.CompletionResult]::new($_.Name, $_.Name, 'ProviderItem', $_.Name)
            }
        } else {
            $word, $summary = $_ -split "\`t", 2
            if (-not $summary) { $summary = $word }
            [System.Management.Automation.CompletionResult]::new($word, $word, 'ParameterValue', $summary)
        }
    }
}
`;

export const completionScripts: Readonly<Record<Shell, string>> = { bash, zsh, fish, powershell };
