# Runs one PostgreSQL in the folder $1 with the programs in $2. The other arguments are a command
# prefix that runs a program as the right user. Each line of stdin is an order, and is answered with
# one line. Stdin ends when the test process ends, even after a crash. Then this script ends the
# server and removes the folder.
folder=$1
programs=$2
shift 2
server=

# Signal $1 must not be KILL, because a killed server does not free its shared memory.
end() {
  if [ -n "$server" ]; then
    kill "-$1" "$server"
    wait "$server"
    server=
  fi
}

while read -r order port; do
  case $order in
  init)
    if "$@" "$programs/initdb" --pgdata="$folder/data" --username=svc --auth=trust \
      --encoding=UTF8 --no-locale --no-sync </dev/null >>"$folder/log" 2>&1; then
      echo done
    else
      echo failed
    fi
    ;;
  copy) # copies the running server at $port; the copy becomes its standby
    if "$@" "$programs/pg_basebackup" --pgdata="$folder/data" --host=127.0.0.1 --port="$port" \
      --username=svc --no-password --checkpoint=fast --no-sync </dev/null >>"$folder/log" 2>&1 &&
      "$@" touch "$folder/data/standby.signal" </dev/null; then
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
  crash) # shuts down at once, without a checkpoint
    end QUIT
    echo done
    ;;
  esac
done
end QUIT

# Child processes of the server may still be running and write files, so try again.
tries=0
until rm -rf "$folder" 2>/dev/null || [ "$tries" -ge 100 ]; do
  tries=$((tries + 1))
  sleep 0.1
done
