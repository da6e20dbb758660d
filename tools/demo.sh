#!/bin/sh
# The main job, shown: a million Lorenz systems, each with its own rho.
#   demo.sh PATH_OF_SHOAL
set -eu
shoal=$1
dir=$(dirname "$shoal")/demo
mkdir -p "$dir"
echo "A million Lorenz systems, rho from 0 to 30, t from 0 to 1, tolerance 1e-6:"
echo "  $shoal run examples/lorenz.ode --t1 1 --sweep rho=lin:0:30:1000000 -o $dir/lorenz.npz"
echo
"$shoal" run examples/lorenz.ode --t1 1 --sweep rho=lin:0:30:1000000 -o "$dir/lorenz.npz" --progress on
echo
echo "Seven of them, from the same batch:"
"$shoal" run examples/lorenz.ode --t1 1 --sweep rho=lin:0:30:1000000 -q -o - \
    --only-runs 0,166666,333333,500000,666666,833333,999999 |
    if command -v column >/dev/null; then column -s, -t; else cat; fi
echo
echo "Open the result:  python3 -c \"import numpy; r = numpy.load('$dir/lorenz.npz'); print(r['rho'], r['x'])\""
echo "Next:             $shoal help, $shoal info examples/lorenz.ode, $shoal methods"
