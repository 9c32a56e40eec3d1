#!/bin/sh
# Installs svc @VERSION@ for this user: downloads the archive, compares its checksum, copies files below ~/.local.
# Needs no root and changes no file outside the prefix. TLS protects the download. The checksum detects a damaged file only,
# because it comes from the same place; the release has signatures too (docs/INSTALL.md, "Check a download").
#
#   sh install.sh [--prefix FOLDER] [--version VERSION] [--from ADDRESS-OR-FOLDER]
set -eu
# Ranges such as a-z have only letters of ASCII.
export LC_ALL=C

prefix=${SVC_PREFIX:-${HOME:?HOME is not set}/.local}
version=@VERSION@
from=

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

# Whether curl and wget read the address as this script does: only usual characters, and a host without a user name.
is_clear() { # ADDRESS
  case $1 in *[!A-Za-z0-9._~:/?\&=%+,\;-]*) return 1 ;; esac
  host=${1#*://}
  host=${host%%[/?]*}
  case $host in '' | -* | .* | :* | *[!A-Za-z0-9.:-]*) return 1 ;; esac
  case $1 in
    https://*) return 0 ;;
    # Plain HTTP is allowed from this machine only, for tests.
    http://127.0.0.1:*) case ${host#127.0.0.1:} in '' | *[!0-9]*) return 1 ;; esac ;;
    *) return 1 ;;
  esac
}

while [ $# -gt 0 ]; do
  case $1 in
    --prefix | --version | --from) [ $# -ge 2 ] || fail "$1 needs a value" ;;
  esac
  case $1 in
    --prefix) prefix=$2 && shift 2 ;;
    --version) version=$2 && shift 2 ;;
    --from) from=$2 && shift 2 ;;
    -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0" && exit 0 ;;
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
case $version in *[!0-9A-Za-z.+-]*) fail "\`$version\` is not a version" ;; esac
[ -n "$from" ] || from=@REPOSITORY@/releases/download/v$version
case $from in
  *://*\?*) fail "\`$from\` has a query; an address is https://HOST/FOLDER" ;;
  *://*) is_clear "$from" || fail "\`$from\` is not an https address, such as https://HOST/FOLDER without a user name" ;;
esac

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

download() { # ADDRESS FILE
  if command -v curl >/dev/null 2>&1; then
    case $1 in
      # Allows only TLS, also after a redirection.
      https://*) curl --proto '=https' --tlsv1.2 --max-redirs 10 -gfsSL -o "$2" "$1" ;;
      *) curl --proto '=http' -gfsS -o "$2" "$1" ;;
    esac
    return
  fi
  case $(wget --version 2>/dev/null) in
    "GNU Wget 1."*) ;;
    *) fail "needs curl or GNU wget 1" ;;
  esac
  # wget follows a redirection to plain HTTP, also with --https-only. So each redirection is checked here.
  address=$1
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    wget -q -S --max-redirect=0 -O "$2" "$address" 2>"$temporary/answer" && return
    case $1 in https://*) ;; *) return 1 ;; esac
    address=$(sed -n 's/^  [Ll]ocation: *//p' "$temporary/answer" | tail -n 1 | tr -d '\r')
    [ -n "$address" ] || return 1
    case $address in https://*) ;; *) address= ;; esac
    is_clear "$address" || fail "$1 leads to an address that is not https; nothing was installed"
  done
  fail "$1 has more than 10 redirections"
}

get() {
  case $from in
    *://*) download "$from/$1" "$temporary/$1" ;;
    *) cp -- "$from/$1" "$temporary/$1" ;;
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
