# Python packages, installed for this repository only. Sourced.

# Prints a python that has the packages $@; what is there already is kept.
python_with() {
  local folder
  folder=$(tools_dir)/python
  if [ ! -x "$folder/bin/python" ]; then
    ensure_packages python3 python3-venv
    python3 -m venv "$folder" >&2
  fi
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@" >&2
  realpath --no-symlinks "$folder/bin/python"
}
