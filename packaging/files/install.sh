#!/bin/sh
# Installs svc @VERSION@ for this user: downloads the archive, compares its checksum, copies files below ~/.local.
# Needs no root and changes no file outside the prefix.
#
#   sh install.sh [--prefix FOLDER] [--version VERSION] [--from ADDRESS-OR-FOLDER]
set -eu

prefix=${SVC_PREFIX:-${HOME:?HOME is not set}/.local}
version=@VERSION@
from=

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

while [ $# -gt 0 ]; do
  case $1 in
    --prefix | --version | --from) [ $# -ge 2 ] || fail "$1 needs a value" ;;
  esac
  case $1 in
    --prefix) prefix=$2 && shift 2 ;;
    --version) version=$2 && shift 2 ;;
    --from) from=$2 && shift 2 ;;
    -h | --help) sed -n '2,5s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) fail "unknown argument \`$1\`; see --help" ;;
  esac
done

[ "$(uname -s)" = Linux ] || fail "there are archives for Linux only; this is $(uname -s). Build svc from source instead."
case $(uname -m) in
  x86_64 | amd64) target=x86_64-unknown-linux-gnu ;;
  aarch64 | arm64) target=aarch64-unknown-linux-gnu ;;
  *) fail "there is no archive for $(uname -m). Build svc from source instead." ;;
esac
name=svc-$target.tar.gz
[ -n "$from" ] || from=@REPOSITORY@/releases/download/v$version

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

get() {
  case $from in
    https://* | http://127.0.0.1:*)
      # Allows only TLS, also after a redirection. Plain HTTP is allowed from this machine only, for tests.
      if command -v curl >/dev/null 2>&1; then
        case $from in
          https://*) curl --proto '=https' --tlsv1.2 -fsSL -o "$temporary/$1" "$from/$1" ;;
          *) curl -fsS -o "$temporary/$1" "$from/$1" ;;
        esac
      elif command -v wget >/dev/null 2>&1; then
        case $from in
          https://*) wget --https-only -q -O "$temporary/$1" "$from/$1" ;;
          *) wget -q -O "$temporary/$1" "$from/$1" ;;
        esac
      else
        fail "needs curl or wget"
      fi
      ;;
    *://*) fail "\`$from\` is not an https address" ;;
    *) cp "$from/$1" "$temporary/$1" ;;
  esac || fail "cannot get $from/$1"
}

get "$name"
get "$name.sha256"

if command -v sha256sum >/dev/null 2>&1; then
  found=$(sha256sum "$temporary/$name")
elif command -v shasum >/dev/null 2>&1; then
  found=$(shasum -a 256 "$temporary/$name")
else
  fail "needs sha256sum or shasum to compare the checksum"
fi
found=${found%% *}
expected=$(cut -d ' ' -f 1 "$temporary/$name.sha256")
[ "${#expected}" -eq 64 ] || fail "$name.sha256 does not contain a checksum"
[ "$found" = "$expected" ] || fail "the checksum of $name is $found, but $name.sha256 says $expected. Nothing was installed."

tar -xzf "$temporary/$name" -C "$temporary"
unpacked=$temporary/svc-$version-$target
[ -f "$unpacked/svc" ] || fail "$name is not an archive of version $version"
"$unpacked/svc" version >/dev/null || fail "the program does not run here; it needs glibc @GLIBC@ or newer. Nothing was installed."

put() { # SOURCE DESTINATION MODE
  mkdir -p "$prefix/${2%/*}"
  cp "$unpacked/$1" "$prefix/$2.new"
  chmod "$3" "$prefix/$2.new"
  # Uses a rename, so that a running svc keeps its old file.
  mv -f "$prefix/$2.new" "$prefix/$2"
}
put svc bin/svc 755
for page in "$unpacked"/man/*.1; do
  page=${page##*/}
  put "man/$page" "share/man/man1/$page" 644
done
put completions/svc.bash share/bash-completion/completions/svc 644
put completions/svc.fish share/fish/vendor_completions.d/svc.fish 644
put completions/_svc.zsh share/zsh/site-functions/_svc 644
put LICENSE share/doc/svc/LICENSE 644
put THIRD-PARTY.txt share/doc/svc/THIRD-PARTY.txt 644
put sbom.cdx.json share/doc/svc/sbom.cdx.json 644

echo "installed $prefix/bin/svc ($("$prefix/bin/svc" version))"
case :${PATH:-}: in
  *":$prefix/bin:"*) ;;
  *) echo "$prefix/bin is not on your PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
