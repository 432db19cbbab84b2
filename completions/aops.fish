# fish completion for aops. Load it with: aops completion fish | source
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
