#!/bin/sh
# Two ranks of shoal-mpi against two threads of shoal, and what messages of 64 ranks take rank 0.
#
#   bench/mpi.sh BUILD
#
# Seconds are those of the runs themselves, without the start of mpirun; the best of three.
set -eu
build=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
cat > "$dir/lorenz.ode" <<'END'
par rho=28
init x=1, y=1, z=1
x'=10*(y-x)
y'=x*(rho-z)-y
z'=x*y-8/3*z
@ t1=10, method=tsit5
END

# The seconds of the line "N trajectories: ...; S s".
seconds() {
    sed -n 's/.*rejected; \([0-9.]*\) s.*/\1/p' "$1"
}

# best COMMAND...: the least seconds of three.
best() {
    for i in 1 2 3; do
        "$@" 2> "$dir/err" || { cat "$dir/err" >&2; exit 1; }
        seconds "$dir/err"
    done | sort -g | head -n 1
}

job="run $dir/lorenz.ode --device cpu --sweep rho=lin:0:28:1000000 -o $dir/out.npz"
threads=$(best "$build/shoal" $job --threads 2)
ranks=$(best mpirun -n 2 "$build/shoal-mpi" $job --threads 1)
echo "two threads $threads s, two ranks $ranks s: $(echo "$threads $ranks" | awk '{printf "%.3f", $2 / $1}')"

# Many ranks on few cores: what they compute is of no interest here, only what rank 0 does for them.
mpirun -n 64 "$build/shoal-mpi" run "$dir/lorenz.ode" --device cpu --threads 1 --t1 0.1 -v \
    --chunk "${MPI_CHUNK:-100}" --sweep rho=lin:0:28:400000 -o "$dir/out.npz" 2> "$dir/err"
sed -n 's/^ranks *//p' "$dir/err"
sed -n 's/^ranks.* asked \([0-9]*\) times and sent \([0-9]*\) .* rank 0 \([0-9.]*\) ms/\1 \2 \3/p' "$dir/err" | awk '{
    us = 1000 * $3 / ($1 + $2);
    printf "%.1f us a message; 10,000 GPUs that send one and ask once for each range keep rank 0 busy for 30 %% with ranges of %.2f s\n", us, 2 * us * 1e-6 * 10000 / 0.3 }'
