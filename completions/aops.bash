# bash completion for aops. Load it with: source <(aops completion bash)
_aops() {
  local line word kind=""
  local current="${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  while IFS= read -r line; do
    case "$line" in
      :files|:directories) kind="$line" ;;
      *) word="${line%%$'\t'*}"; COMPREPLY+=("$(printf '%q' "$word")") ;;
    esac
  done < <(aops __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  case "$kind" in
    :files) compopt -o filenames 2>/dev/null; while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$current") ;;
    :directories) compopt -o filenames 2>/dev/null; while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "$current") ;;
  esac
}
complete -F _aops aops
