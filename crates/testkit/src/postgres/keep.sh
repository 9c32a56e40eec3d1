# Keeps one PostgreSQL in the folder $1, from the programs in $2; what follows runs a program as the
# user who may. Orders come on stdin, one a line, and each is answered by one line. Where stdin
# ends, whoever gave them is gone, however that came about: server and folder go too.
folder=$1
programs=$2
shift 2
server=

# Not KILL: only a server that ends by itself gives back the memory it shares.
end() {
  if [ -n "$server" ]; then
    kill "-$1" "$server"
    wait "$server"
    server=
  fi
}

while read -r order; do
  case $order in
  init)
    if "$@" "$programs/initdb" --pgdata="$folder/data" --username=svc --auth=trust \
      --encoding=UTF8 --no-locale --no-sync </dev/null >>"$folder/log" 2>&1; then
      echo done
    else
      echo failed
    fi
    ;;
  start)
    "$@" "$programs/postgres" -D "$folder/data" -c config_file="$folder/postgresql.conf" \
      </dev/null >>"$folder/log" 2>&1 &
    server=$!
    echo "$server"
    ;;
  stop)
    end INT
    echo done
    ;;
  esac
done
end QUIT

# What the server started may still be ending, and write.
tries=0
until rm -rf "$folder" 2>/dev/null || [ "$tries" -ge 100 ]; do
  tries=$((tries + 1))
  sleep 0.1
done
