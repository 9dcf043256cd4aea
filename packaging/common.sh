# What packaging/run, packaging/test and .ci/run share. Sourced by them with `source_dir` set to the checkout.

say() { printf '%s\n' "$*" >&2; }

# How many compilers to run at once: one a processor, as far as memory goes (a large source takes about 1.2 GiB).
compilers() {
  local processors available
  processors=$(nproc)
  available=$(awk '/^MemAvailable:/ { print int($2 / 1258291) }' /proc/meminfo 2>/dev/null || true)
  available=${available:-$processors}
  if [ "$available" -lt "$processors" ]; then processors=$available; fi
  if [ "$processors" -lt 1 ]; then processors=1; fi
  echo "$processors"
}

# Whether this user can write all of a folder that exists, or create it.
can_write() {
  local folder=$1
  if [ -e "$folder" ]; then
    [ -d "$folder" ] && [ -z "$(find "$folder" ! -type l ! -writable -print -quit 2>&1)" ]
  else
    while [ ! -e "$folder" ]; do folder=$(dirname "$folder"); done
    [ -d "$folder" ] && [ -w "$folder" ]
  fi
}

# build_directory NAME: build/NAME in the checkout, or a folder of this user's own where that belongs to somebody else.
build_directory() {
  local folder="$source_dir/build/$1"
  if ! can_write "$folder"; then
    local cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}
    local checkout
    checkout=$(printf '%s' "$source_dir" | cksum | cut -d ' ' -f 1)
    say "$folder cannot be written by this user; building in $cache/millrace instead."
    folder="$cache/millrace/$checkout/$1"
  fi
  printf '%s\n' "$folder"
}

# configure PRESET FOLDER [CMAKE OPTIONS...]: quiet unless it fails.
configure() {
  local preset=$1 folder=$2
  shift 2
  mkdir -p "$folder"
  # A folder that was configured at another place or for another tool cannot be configured again.
  local cache="$folder/CMakeCache.txt"
  if [ -f "$cache" ] && ! { grep -Fxq "CMAKE_HOME_DIRECTORY:INTERNAL=$source_dir" "$cache" &&
    grep -Fxq "CMAKE_GENERATOR:INTERNAL=Ninja" "$cache"; }; then
    rm -rf "$cache" "$folder/CMakeFiles"
  fi
  local launcher=
  if command -v ccache >/dev/null && ccache -s >/dev/null 2>&1; then launcher=ccache; fi
  say "Configuring $folder"
  if ! (cd "$source_dir" && cmake --preset "$preset" -B "$folder" "-DCMAKE_CXX_COMPILER_LAUNCHER=$launcher" "$@") \
    >"$folder/configure.log" 2>&1 </dev/null; then
    cat "$folder/configure.log" >&2
    say "Configuring failed; the messages are also in $folder/configure.log"
    return 1
  fi
}

# build FOLDER [TARGET...]: ninja's progress goes to standard error.
build() {
  local folder=$1
  shift
  local target=()
  if [ $# -gt 0 ]; then target=(--target "$@"); fi
  cmake --build "$folder" --parallel "$(compilers)" ${target[@]+"${target[@]}"} >&2 </dev/null
}
