# common.sh - sourced by the scripts of this folder: where things are, and how they speak.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=${MOE_BUILD_DIR:-$ROOT/build}
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
VENV=$BUILD/venv
PYTHON=$VENV/bin/python

say() { printf '%s\n' "== $*"; }
die() {
  printf '%s\n' "error: $*" >&2
  exit 1
}

# Runs a command as root: directly, or with sudo. Fails with a message that names the command where neither is possible.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "needs root or sudo to run: $*"
  fi
}

# The CMake folder of the MLIR in use: MLIR_DIR, else Debian's packages. Empty if there is none.
mlir_dir() {
  local dir=${MLIR_DIR:-/usr/lib/llvm-22/lib/cmake/mlir}
  if [ -f "$dir/MLIRConfig.cmake" ]; then
    printf '%s\n' "$dir"
  elif [ -n "${MLIR_DIR:-}" ]; then
    die "MLIR_DIR=$MLIR_DIR holds no MLIRConfig.cmake; it is the folder lib/cmake/mlir of an LLVM 22 installation"
  fi
}

# A program of the LLVM in use: beside MLIR_DIR, else with the version in its name. Empty if there is none.
llvm_tool() {
  local dir
  dir=$(mlir_dir) || exit 1
  if [ -n "$dir" ] && [ -x "$dir/../../../bin/$1" ]; then
    (cd "$dir/../../../bin" && printf '%s\n' "$PWD/$1")
  else
    command -v "$1-22" || true
  fi
}
