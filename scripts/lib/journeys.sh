# The journeys in hurl/, against the program itself. Sourced.

server=
server_pid=

# Builds the program as the tests do, because other features would build every dependency again.
build_server() {
  say "building the server"
  cargo test --no-run --quiet --test it
  server=$(realpath "$(target_dir)/debug/runloom")
}

# Starts the program on the database at URL $1 and prepares to log into file $2; sets $base.
start_server() {
  local line
  # Nothing of the caller's environment or working directory may configure it.
  exec {server_out}< <(
    cd "$scratch"
    exec env -i PATH="$PATH" "$server" --listen 127.0.0.1:0 --database-url "$1" 2>"$2"
  )
  server_pid=$!
  if ! read -r -t 60 -u "$server_out" line || [[ $line != "listening on "* ]]; then
    cat "$2" >&2
    fail "the server does not listen"
  fi
  base=${line#listening on }
}

# Asks the program to end, and demands that it does so in peace.
stop_server() {
  local pid=$server_pid
  server_pid=
  if [ -n "$pid" ]; then
    kill -TERM "$pid" 2>/dev/null || true
    wait "$pid"
  fi
}

# Runs all journeys on the database that is called $1 and lies at URL $2.
journeys() {
  local base log=$scratch/server.log
  start_server "$2" "$log"
  say "running the journeys on $1, at $base"
  if ! "$hurl" --test --noproxy '*' --variable "base=$base" hurl/*.hurl; then
    cat "$log" >&2
    fail "the journeys on $1"
  fi
  stop_server || { cat "$log" >&2; fail "the server did not end in peace"; }
}
