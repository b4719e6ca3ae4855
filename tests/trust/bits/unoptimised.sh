#!/bin/sh
# A compiler that does not optimise, whatever it is told before: unoptimised.sh g++ -O3 ...
# (Flags that a user gives stand before those of the kernels, which would win.)
exec "$@" -O0 -g
