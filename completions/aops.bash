# bash completion for aops. Load it with: source <(aops completion bash)
_aops() {
  local line word i kind="" rest="$COMP_LINE" cut=""
  local -a words=()
  # bash splits words at @ and : too. Parts without white space between them form one word.
  for (( i = 0; i <= COMP_CWORD; i++ )); do
    word="${COMP_WORDS[i]}"
    if (( i > 0 )) && [[ "$rest" != [[:space:]]* && ( "$word" == [@:]* || "${COMP_WORDS[i-1]}" == *[@:] ) ]]; then
      words[${#words[@]}-1]+="$word"
    else
      rest="${rest#"${rest%%[![:space:]]*}"}"
      words+=("$word")
    fi
    rest="${rest#"$word"}"
  done
  local current="${words[${#words[@]}-1]}"
  # bash replaces only the part after the last colon or from the last @, so the part before it is removed from the candidates.
  case "$current" in
    *:*) cut="${current%"${current##*:}"}" ;;
    *@*) cut="${current%@*}" ;;
  esac
  COMPREPLY=()
  while IFS= read -r line; do
    case "$line" in
      :files|:directories) kind="$line" ;;
      *) word="${line%%$'\t'*}"; COMPREPLY+=("$(printf '%q' "${word#"$cut"}")") ;;
    esac
  done < <(aops __complete -- "${words[@]:1}" 2>/dev/null)
  case "$kind" in
    :files) compopt -o filenames 2>/dev/null; while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$current") ;;
    :directories) compopt -o filenames 2>/dev/null; while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "$current") ;;
  esac
}
complete -F _aops aops
