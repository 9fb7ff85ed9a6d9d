# What the other scripts share. Sourced, not run.

say() {
  printf '==> %s\n' "$*" >&2
}

fail() {
  printf '==> failed: %s\n' "$*" >&2
  exit 1
}

# Where cargo puts what it builds.
target_dir() {
  printf '%s\n' "${CARGO_TARGET_DIR:-target}"
}

# Tools that are installed for this repository only.
tools_dir() {
  printf '%s/tools\n' "$(target_dir)"
}

# Runs a command as root, without ever asking for a password.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    sudo -n "$@"
  fi
}

# Installs those of the Debian packages that are missing.
ensure_packages() {
  local package missing=()
  for package in "$@"; do
    if ! dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$'; then
      missing+=("$package")
    fi
  done
  if [ ${#missing[@]} = 0 ]; then
    return
  fi
  if ! command -v apt-get >/dev/null || ! as_root true 2>/dev/null; then
    fail "these packages are missing and cannot be installed here: ${missing[*]}"
  fi
  say "installing ${missing[*]}"
  as_root apt-get update -qq >&2
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}
