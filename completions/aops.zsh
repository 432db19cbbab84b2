#compdef aops
# zsh completion for aops. Load it with: source <(aops completion zsh), or put it in a folder of $fpath as _aops
_aops() {
  local line kind="" word summary
  local -a described
  while IFS= read -r line; do
    case "$line" in
      :files|:directories) kind="$line" ;;
      *)
        word="${line%%$'\t'*}"
        summary="${line#*$'\t'}"
        # A colon ends the word, so colons and backslashes in words are escaped.
        word="${word//\\/\\\\}"
        described+=("${word//:/\\:}:$summary")
        ;;
    esac
  # The words without their quotes; PREFIX is the last word up to the cursor, without an unclosed quote.
  done < <(aops __complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
  (( ${#described} )) && _describe 'aops' described
  case "$kind" in
    :files) _files ;;
    :directories) _files -/ ;;
  esac
}
if [ "${funcstack[1]}" = "_aops" ]; then _aops "$@"; else compdef _aops aops; fi
