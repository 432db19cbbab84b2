#!/bin/sh
# Stands for `aops` on the search path of a shell: resident-aops.ts runs the command, and sends its exit code through descriptor 3.
# Descriptors 4 to 6 are the standard streams, because the shell replaces those of the commands below.
mkfifo "$0.$$" && exec 3<> "$0.$$" 4<&0 5>&1 6>&2 && echo $$ > "$0.requests" && read -r code <&3
exit "$code"
