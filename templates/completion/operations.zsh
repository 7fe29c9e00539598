#compdef operations
_operations() {
  local line
  local -a suggestions space
  for line in "${(@f)$(operations complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2> /dev/null)}"; do
    [[ "$line" == :files ]] && { _files; return }
    [[ "${line%%$'\t'*}" == *= ]] && space=(-S '')
    [[ -n "$line" ]] && suggestions+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  _describe operations suggestions -Q "${(@)space}"
}
compdef _operations operations
