#!/bin/sh
# Says whether a compiler can build plaingrad. It exists because an old compiler prints pages of errors
# about C++20, where one line is enough.
#
# usage: compiler.sh <compiler...>
# prints `<machine> <the compiler's own version line>`, or `error <what is wrong and what to do>`
line=$("$@" --version 2>/dev/null | head -n 1)
if [ -z "$line" ]; then
    echo "error no compiler: '$*' does not run; install g++ >= 11 or clang++ >= 14, or name one: make CXX=clang++"
    exit
fi

number=$("$@" -dumpversion 2>/dev/null | head -n 1)
case $line in
*clang*) need=14 number=$(echo "$line" | sed -n 's/.*clang version \([0-9][0-9.]*\).*/\1/p') ;;
*) need=11 ;;
esac
case ${number%%.*} in
'' | *[!0-9]*) found=0 ;;
*) found=${number%%.*} ;;
esac
if [ "$found" -lt "$need" ]; then
    echo "error compiler too old: '$*' is $line; plaingrad needs g++ >= 11 or clang++ >= 14 (make CXX=...)"
    exit
fi
echo "$("$@" -dumpmachine) $line"
