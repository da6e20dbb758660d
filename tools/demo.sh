#!/bin/sh
# The main job, shown: a million Lorenz systems, each with its own rho; then a picture of many more of them.
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
echo "And where x is at t = 40, for rho from 0 to 200: steady states, chaos, periodic windows."
"$shoal" run examples/lorenz.ode --sweep rho=lin:0:200:200000 --vars x -q -o "$dir/chaos.npz" --report "$dir/chaos.html"
"$shoal" plot "$dir/chaos.npz" -q
"$shoal" plot "$dir/chaos.npz" -q --theme dark -o "$dir/chaos.png"
echo
echo "The picture:      $dir/chaos.png"
echo "About that run:   $dir/chaos.html, a page for a browser"
echo "Look around:      $shoal plot $dir/chaos.npz --x-range 90:110, $shoal plot $dir/lorenz.npz, docs/gallery.md"
echo "Open the result:  python3 -c \"import numpy; r = numpy.load('$dir/lorenz.npz'); print(r['rho'], r['x'])\""
echo "Next:             $shoal help, $shoal info examples/lorenz.ode, $shoal methods"
