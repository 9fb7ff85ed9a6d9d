# A Postgres server for the tests: found or installed, started, and thrown away. Sourced.

postgres_data=
postgres_bin=
postgres_user=

# Prints the directory of Postgres' own programs: what pg_config says, else the newest version.
find_postgres() {
  local candidate candidates=() program
  candidates+=("$(pg_config --bindir 2>/dev/null || true)")
  mapfile -t -O 1 candidates < <(printf '%s\n' /usr/lib/postgresql/*/bin | sort -rV)
  program=$(command -v initdb || true)
  candidates+=("${program%/initdb}")
  for candidate in "${candidates[@]}"; do
    if [ -x "$candidate/initdb" ] && [ -x "$candidate/pg_ctl" ] && [ -x "$candidate/psql" ]; then
      printf '%s\n' "$candidate"
      return
    fi
  done
}

# Postgres refuses to run as root.
as_postgres() {
  if [ -n "$postgres_user" ]; then
    (cd / && runuser -u "$postgres_user" -- "$@")
  else
    "$@"
  fi
}

# A port that nobody answers on. Somebody may still take it first, so the caller tries again.
free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 30000))
    if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      printf '%s\n' "$port"
      return
    fi
  done
}

# Starts a server with its data below directory $1, and sets TEST_DATABASE_URL.
start_postgres() {
  postgres_bin=$(find_postgres)
  if [ -z "$postgres_bin" ]; then
    ensure_packages postgresql
    postgres_bin=$(find_postgres)
    [ -n "$postgres_bin" ] || fail "Postgres was installed but its programs were not found"
  fi
  if [ "$(id -u)" = 0 ]; then
    postgres_user=nobody
    if id -u postgres >/dev/null 2>&1; then
      postgres_user=postgres
    fi
  fi

  local data=$1/postgres log=$1/postgres.log port attempt
  mkdir "$data"
  touch "$log"
  if [ -n "$postgres_user" ]; then
    # The server's user must be able to walk through to its own directory.
    chmod 711 "$1"
    chown "$postgres_user" "$data" "$log"
  fi
  say "preparing a throw-away Postgres with $postgres_bin"
  as_postgres "$postgres_bin/initdb" --pgdata "$data" --username postgres --auth trust \
    --encoding UTF8 --locale C --no-sync >"$1/initdb.log" 2>&1 \
    || { cat "$1/initdb.log" >&2; fail "initdb"; }
  for attempt in 1 2 3 4 5; do
    port=$(free_port)
    if as_postgres "$postgres_bin/pg_ctl" start --pgdata "$data" --log "$log" --wait --silent \
      --options "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories='' \
        -c max_connections=300 -c fsync=off -c synchronous_commit=off -c full_page_writes=off"; then
      postgres_data=$data
      TEST_DATABASE_URL=postgres://postgres@127.0.0.1:$port/postgres
      say "Postgres answers at $TEST_DATABASE_URL"
      return
    fi
    say "Postgres did not start on port $port (attempt $attempt)"
  done
  cat "$log" >&2
  fail "Postgres does not start"
}

stop_postgres() {
  if [ -n "$postgres_data" ]; then
    say "stopping Postgres"
    as_postgres "$postgres_bin/pg_ctl" stop --pgdata "$postgres_data" --mode immediate --silent || true
    postgres_data=
  fi
}

# Creates a database on the test server and prints its URL.
create_database() {
  local psql name=journeys_$$ address options=
  psql=$(command -v psql || printf '%s/psql' "$(find_postgres)")
  if [ ! -x "$psql" ]; then
    ensure_packages postgresql-client
    psql=psql
  fi
  PGOPTIONS='-c client_min_messages=warning' "$psql" "$TEST_DATABASE_URL" --quiet --no-psqlrc \
    --command "drop database if exists $name" --command "create database $name" >&2
  address=${TEST_DATABASE_URL%%\?*}
  if [ "$address" != "$TEST_DATABASE_URL" ]; then
    options=?${TEST_DATABASE_URL#*\?}
  fi
  printf '%s/%s%s\n' "${address%/*}" "$name" "$options"
}
