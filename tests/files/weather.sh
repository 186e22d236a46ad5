#!/bin/sh
# Average of the temperatures in the files named, one a line.
set -eu
for file in "$@"; do
  if [ ! -r "$file" ]; then
    echo "$0: cannot read $file" >&2
    exit 1
  fi
  awk '{ sum += $1; n++ } END { if (n > 0) printf "%s: mean of %d readings: %.2f\n", FILENAME, n, sum / n }' "$file"
done
