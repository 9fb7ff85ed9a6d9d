# Snapshots: none is written by a check, and none is kept that no test reads. Sourced.

# Has the tests record which snapshots they read.
watch_snapshots() {
  export INSTA_UPDATE=no INSTA_REQUIRE_FULL_MATCH=1
  INSTA_SNAPSHOT_REFERENCES_FILE=$(mktemp)
  export INSTA_SNAPSHOT_REFERENCES_FILE
  trap 'rm -f "$INSTA_SNAPSHOT_REFERENCES_FILE"' EXIT
}

# Fails when there are snapshots that the recorded tests did not read.
refuse_dead_snapshots() {
  local dead
  dead=$(comm -13 \
    <(xargs -r -d '\n' realpath <"$INSTA_SNAPSHOT_REFERENCES_FILE" | sort -u) \
    <(find src tests -name '*.snap' -exec realpath {} + | sort))
  [ -z "$dead" ] || fail "no test reads these snapshots: $dead"
}
