# bash completion for operations
_operations() {
  local line="${COMP_LINE:0:COMP_POINT}" words current rest character suggestion
  read -ra words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=("")
  current="${words[${#words[@]}-1]}"
  rest="$current"
  # Readline breaks words at these characters, and replaces only what follows the last of them.
  for character in : = @; do
    [[ "$COMP_WORDBREAKS" == *"$character"* ]] && rest="${rest##*"$character"}"
  done
  while IFS=$'\t' read -r suggestion _; do
    if [[ "$suggestion" == :files ]]; then
      compopt -o default
    else
      [[ "$suggestion" == *= ]] && compopt -o nospace
      COMPREPLY+=("${suggestion:${#current}-${#rest}}")
    fi
  done < <(operations complete -- "${words[@]:1}" 2> /dev/null)
}
complete -F _operations operations
