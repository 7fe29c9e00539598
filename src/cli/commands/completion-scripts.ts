/**
 * The completion scripts of shells. They call `operations complete -- WORDS`, which prints a suggestion per line, with its
 * description after a tab, or `:files` for file names. After a suggestion that ends with `=` follows no space.
 */
export const completionScripts: Readonly<Record<string, string>> = {
  // Readline breaks words at colons, equals signs and at signs, and replaces only what follows the last of them.
  bash: `# bash completion for operations
_operations() {
  local line="\${COMP_LINE:0:COMP_POINT}" words current rest character suggestion
  read -ra words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=("")
  current="\${words[\${#words[@]}-1]}"
  rest="$current"
  for character in : = @; do
    [[ "$COMP_WORDBREAKS" == *"$character"* ]] && rest="\${rest##*"$character"}"
  done
  while IFS=$'\\t' read -r suggestion _; do
    if [[ "$suggestion" == :files ]]; then
      compopt -o default
    else
      [[ "$suggestion" == *= ]] && compopt -o nospace
      COMPREPLY+=("\${suggestion:\${#current}-\${#rest}}")
    fi
  done < <(operations complete -- "\${words[@]:1}" 2> /dev/null)
}
complete -F _operations operations
`,
  zsh: `#compdef operations
_operations() {
  local line
  local -a suggestions space
  for line in "\${(@f)$(operations complete -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2> /dev/null)}"; do
    [[ "$line" == :files ]] && { _files; return }
    [[ "\${line%%$'\\t'*}" == *= ]] && space=(-S '')
    [[ -n "$line" ]] && suggestions+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  _describe operations suggestions -Q "\${(@)space}"
}
compdef _operations operations
`,
  fish: `# fish completion for operations
function __operations_complete
  set -l current (commandline -ct)
  set -l suggestions (operations complete -- (commandline -opc)[2..-1] "$current" 2> /dev/null)
  if test "$suggestions" = :files
    __fish_complete_path "$current"
  else
    printf '%s\\n' $suggestions
  end
end
complete -c operations -e
complete -c operations -f -a '(__operations_complete)'
`,
};
