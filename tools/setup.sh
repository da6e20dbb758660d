#!/bin/sh
# Checks that what a make target needs is there, and installs the distribution's packages that are not.
#
#   tools/setup.sh [--check] demo|test|bench|dev
#
# Silent and quick when nothing is missing. Otherwise it says what is missing and why it is wanted, and
# installs it with apt-get (Debian, Ubuntu), as root or through `sudo -n`, never asking anything. With
# --check, or SHOAL_NO_INSTALL=1 in the environment, it only says so. Exit status: 0 when everything
# required is there, 1 when not, 2 for a wrong call. Optional things that cannot be installed are
# never an error; what was tried is kept in build/setup-MODE.tried, so the same attempt is not made again.
set -eu

usage() {
    echo "usage: tools/setup.sh [--check] demo|test|bench|dev" >&2
    exit 2
}

say() {
    echo "setup: $*" >&2
}

# One row for each thing: group, required or optional, kind of check, what is looked for (| between
# choices that will do), packages (, between packages, | between names of the same one), and the reason.
table='
demo  required command cc gcc compiles Shoal, and its kernels at run time
demo  required header  stdio.h libc6-dev headers of the C library
demo  optional library libsleef.so.3 libsleef3 fast vector exp, sin, pow, ... in kernels
demo  optional library libhdf5_serial.so.*|libhdf5.so.* libhdf5-103-1|libhdf5-103-1t64|libhdf5-310 HDF5 result files
test  optional python  numpy,h5py,scipy python3,python3-numpy,python3-h5py,python3-scipy independent checks of results and files
test  optional pyheader Python.h python3-dev the extension module of the Python package
test  optional mypy    numpy mypy,python3-numpy types of the Python package
test  optional library libOpenCL.so.1 ocl-icd-libopencl1 the kernels of GPUs, on this CPU
test  optional file    /etc/OpenCL/vendors/pocl.icd pocl-opencl-icd the kernels of GPUs, on this CPU
test  optional command mpicc openmpi-bin,libopenmpi-dev many processes that run one batch
test  optional command xppaut xppaut independent checks of the model language
test  optional file    /usr/share/i18n/locales/de_DE locales a decimal comma, which must change no number
test  optional command chromium|chromium-browser chromium reports as a browser sees them
test  optional command clang clang a second compiler, which must have no warning
test  optional command clang-format-14|clang-format clang-format-14|clang-format the format of the sources
test  optional command clang-tidy clang-tidy findings in the sources
bench optional command c++|g++ g++ compiles the C++ peer of the benchmark
bench optional header  boost/numeric/odeint.hpp libboost-dev Boost.odeint, a peer of the benchmark
bench optional header  arkode/arkode_erkstep.h libsundials-dev SUNDIALS ARKODE, a peer of the benchmark
bench optional header  cvode/cvode.h libsundials-dev SUNDIALS CVODE, a peer of the stiff benchmark
dev   required command clang clang a second compiler, and its sanitizers
dev   required command clang-format-14|clang-format clang-format-14|clang-format make format
dev   required command clang-tidy clang-tidy make tidy
'

# Calls "$1 CHOICE" for each choice of "$2" until one succeeds.
any_of() {
    choices=$2
    while [ -n "$choices" ]; do
        case $choices in
        *'|'*) choice=${choices%%|*} choices=${choices#*|} ;;
        *) choice=$choices choices= ;;
        esac
        if "$1" "$choice"; then
            return 0
        fi
    done
    return 1
}

has_command() {
    command -v "$1" >/dev/null 2>&1
}

has_file() {
    [ -e "$1" ]
}

has_header() {
    for file in "/usr/include/$1" "/usr/local/include/$1" /usr/include/*-linux-gnu*/"$1"; do
        [ -e "$file" ] && return 0
    done
    return 1
}

has_pyheader() {
    has_command python3 && python3 -c "import sys, sysconfig
from os.path import exists
sys.exit(not exists(sysconfig.get_paths()['include'] + '/$1'))"
}

# The name may be a pattern.
has_library() {
    for dir in /usr/lib/*-linux-gnu* /usr/local/lib /usr/lib64 /usr/lib /lib; do
        # shellcheck disable=SC2086 # the pattern is to be expanded
        for file in "$dir"/$1; do
            [ -e "$file" ] && return 0
        done
    done
    return 1
}

# One Python that has all modules (commas between them): Debian's own by its files, which is quick,
# else those that the tests would try.
has_python() {
    modules=$1
    found=yes
    for module in $(echo "$modules" | tr , ' '); do
        [ -d "/usr/lib/python3/dist-packages/$module" ] || found=no
    done
    if [ $found = yes ] && [ -x /usr/bin/python3 ]; then
        return 0
    fi
    for python in build/venv/bin/python3 python3 /usr/bin/python3; do
        if has_command "$python" && "$python" -c "import sys
from importlib.util import find_spec
sys.exit(not all(find_spec(m) for m in '$modules'.split(',')))" 2>/dev/null; then
            return 0
        fi
    done
    return 1
}

# mypy reads the modules of the Python in its own first line, which need not be the one that runs the tests.
has_mypy() {
    has_command mypy && python=$(sed -n '1s/^#!//p' "$(command -v mypy)") &&
        $python -c "import sys
from importlib.util import find_spec
sys.exit(not find_spec('$1'))" 2>/dev/null
}

# Prints the rows of the table whose group is one of "$@" and whose thing is missing.
missing_rows() {
    echo "$table" | while read -r group level kind what packages why; do
        case " $* " in
        *" $group "*) any_of "has_$kind" "$what" || echo "$level $packages $why" ;;
        esac
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

can_be_root() {
    [ "$(id -u)" = 0 ] || { has_command sudo && sudo -n true 2>/dev/null; }
}

apt_get() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=60 \
        -o Acquire::http::Timeout=15 -o Acquire::https::Timeout=15 -o Acquire::Retries=1 "$@" >&2
}

is_package() {
    [ -n "$(apt-cache --no-all-versions show "$1" 2>/dev/null)" ] && package=$1
}

# Sets `packages` to the names that this distribution knows, out of rows on standard input.
choose_packages() {
    packages=
    while read -r _ names _; do
        for name in $(echo "$names" | tr , ' '); do
            package=
            if any_of is_package "$name"; then
                packages="$packages $package"
            else
                say "this distribution has no package $name"
            fi
        done
    done
}

# Installs what the rows "$1" name; all at once, or else one by one.
install_rows() {
    [ -n "$1" ] || return 0
    choose_packages <<ROWS
$1
ROWS
    [ -n "$packages" ] || return 1
    say "apt-get install$packages"
    # shellcheck disable=SC2086 # a list of names
    if ! apt_get install --no-install-recommends $packages; then
        $online || return 1
        for package in $packages; do
            apt_get install --no-install-recommends "$package" || say "could not install $package"
        done
    fi
}

# Those of the rows "$2" that have the level "$1".
of_level() {
    echo "$2" | sed -n "/^$1 /p"
}

tell() {
    echo "$1" | while read -r level packages why; do
        say "missing ($level): $(echo "$packages" | sed 's/|/ or /g; s/,/ /g'): $why"
    done
}

# Why nothing is to be installed, or nothing when it is.
reason_not_to() {
    if [ -n "${SHOAL_NO_INSTALL:-}" ]; then
        echo "SHOAL_NO_INSTALL is set"
    elif ! has_command apt-get; then
        echo "there is no apt-get here; install these with your own package manager"
    elif ! can_be_root; then
        echo "not root, and no sudo that asks for no password"
    elif [ -z "$required" ] && [ "$(cat "build/setup-$mode.tried" 2>/dev/null)" = "$missing" ]; then
        echo "tried before; remove build/setup-$mode.tried to try again"
    fi
}

install_missing() {
    say "refreshing the package lists"
    online=true
    if ! apt_get update -o APT::Update::Error-Mode=any; then
        online=false
        say "could not refresh all package lists (no network?); going on with those there are"
    fi
    install_rows "$required" || say "could not install what is required"
    install_rows "$(of_level optional "$missing")" || say "could not install what is optional"
}

check_only=no
mode=
for argument in "$@"; do
    case $argument in
    --check) check_only=yes ;;
    demo | test | bench | dev) mode=$argument ;;
    *) usage ;;
    esac
done
case $mode in
demo) groups=demo ;;
test) groups='demo test' ;;
bench) groups='demo bench' ;;
dev) groups='demo test dev' ;;
*) usage ;;
esac
cd "$(dirname "$0")/.."

# shellcheck disable=SC2086 # a list of names
missing=$(missing_rows $groups)
[ -n "$missing" ] || exit 0
required=$(of_level required "$missing")
tell "$missing"
if [ $check_only = no ]; then
    reason=$(reason_not_to)
    if [ -n "$reason" ]; then
        say "installing nothing: $reason"
    else
        install_missing
        # shellcheck disable=SC2086
        missing=$(missing_rows $groups)
        required=$(of_level required "$missing")
        mkdir -p build
        echo "$missing" >"build/setup-$mode.tried"
        if [ -z "$missing" ]; then
            say "everything is there now"
        else
            tell "$missing"
        fi
    fi
fi
if [ -n "$required" ]; then
    names=$(echo "$required" | cut -d' ' -f2 | cut -d'|' -f1 | tr , '\n' | paste -sd' ' -)
    say "stopping here; what is required is, as packages of Debian and Ubuntu: $names"
    exit 1
fi
