# fish completion for operations
function __operations_complete
  set -l current (commandline -ct)
  set -l suggestions (operations complete -- (commandline -opc)[2..-1] "$current" 2> /dev/null)
  if test "$suggestions" = :files
    __fish_complete_path "$current"
  else
    printf '%s\n' $suggestions
  end
end
complete -c operations -e
complete -c operations -f -a '(__operations_complete)'
