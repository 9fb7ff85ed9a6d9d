# The hurl program, at the version the journeys are written for. Sourced.

hurl_version=8.0.1
hurl=

# Finds hurl, or builds it into the tools directory.
ensure_hurl() {
  local candidate
  for candidate in "$(tools_dir)/bin/hurl" "$(command -v hurl || true)"; do
    if [ -x "$candidate" ] && "$candidate" --version | grep -q "^hurl $hurl_version "; then
      hurl=$candidate
      return
    fi
  done
  # It binds libxml by way of clang, and links curl.
  ensure_packages gcc pkg-config libxml2-dev libcurl4-openssl-dev libssl-dev libclang-dev
  say "building hurl $hurl_version, which takes a few minutes once"
  cargo install hurl --version "$hurl_version" --locked --quiet \
    --root "$(tools_dir)" --target-dir "$(tools_dir)/build" \
    || fail "hurl $hurl_version cannot be built"
  rm -rf "$(tools_dir)/build"
  hurl=$(tools_dir)/bin/hurl
}
