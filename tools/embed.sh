#!/bin/sh
# Turns files into one C table of strings: embed.sh FILE... > kernels.c
# Each file becomes {folder/name, text, length}; the table ends with a NULL name.
set -eu
echo '#include "kernel/files.h"'
i=0
for f in "$@"; do
    echo "static const char text_$i[] ="
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$/\\n"/' "$f"
    echo ';'
    i=$((i + 1))
done
echo 'const struct kernel_file kernel_files[] = {'
i=0
for f in "$@"; do
    echo "    {\"${f#kernels/}\", text_$i, sizeof text_$i - 1},"
    i=$((i + 1))
done
echo '    {0, "", 0}};'
