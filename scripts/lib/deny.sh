# cargo-deny, which knows deny.toml. Sourced.

deny_version=0.20.2

check_dependencies() {
  local bin
  bin=$(tools_dir)/bin
  PATH=$bin:$PATH
  if ! cargo deny --version >/dev/null 2>&1; then
    say "building cargo-deny $deny_version, which takes a few minutes once"
    cargo install cargo-deny --version "$deny_version" --locked --quiet \
      --root "$(tools_dir)" --target-dir "$(tools_dir)/build"
    rm -rf "$(tools_dir)/build"
  fi
  # Without advisories: they change from day to day, and a check must not.
  cargo deny --all-features check --hide-inclusion-graph bans licenses sources
}
