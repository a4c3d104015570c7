#!/bin/bash
# Entry point of the test images. It follows the official images of MySQL and MariaDB: the same
# variables, the same defaults, server options as arguments. A server starts on a copy of data that the
# image has, which takes a fraction of the time. Not done: *_FILE variables, scripts in
# /docker-entrypoint-initdb.d, time zone tables.
set -euo pipefail

data=/var/lib/mysql
initial=/usr/local/share/initial-data       # the data of a new server, made when the image was built
if command -v mariadbd > /dev/null; then product=MARIADB server=mariadbd; else product=MYSQL server=mysqld; fi

fail() { echo "entrypoint: $*" >&2; exit 1; }

# setting NAME: the value of MYSQL_NAME, or of MARIADB_NAME, which wins on MariaDB.
setting() {
    local mysql="MYSQL_$1" mariadb="MARIADB_$1"
    if [ "$product" = MARIADB ] && [ -n "${!mariadb:-}" ]; then echo "${!mariadb}"; else echo "${!mysql:-}"; fi
}
literal() { local s=${1//\\/\\\\}; printf "'%s'" "${s//\'/\'\'}"; }       # an SQL string
name() { printf '`%s`' "${1//\`/\`\`}"; }                                # an SQL identifier

# initial_sql: what the first start runs, one statement a line, before the server takes connections.
initial_sql() {
    local root_password=$1 root_host database user password
    root_host=$(setting ROOT_HOST) database=$(setting DATABASE) user=$(setting USER) password=$(setting PASSWORD)
    echo "SET SESSION sql_log_bin=0;"
    echo "ALTER USER 'root'@'localhost' IDENTIFIED BY $(literal "$root_password");"
    if [ "${root_host:=%}" != localhost ]; then
        echo "CREATE USER 'root'@$(literal "$root_host") IDENTIFIED BY $(literal "$root_password");"
        echo "GRANT ALL ON *.* TO 'root'@$(literal "$root_host") WITH GRANT OPTION;"
    fi
    echo "SET SESSION sql_log_bin=1;"
    if [ -n "$database" ]; then
        echo "CREATE DATABASE IF NOT EXISTS $(name "$database");"
    fi
    if [ -n "$user" ] && [ -n "$password" ]; then
        echo "CREATE USER $(literal "$user")@'%' IDENTIFIED BY $(literal "$password");"
        if [ -n "$database" ]; then
            echo "GRANT ALL ON $(name "${database//_/\\_}").* TO $(literal "$user")@'%';"
        fi
    fi
}

if [ $# -eq 0 ] || [ "${1:0:1}" = - ]; then set -- "$server" "$@"; fi
case $1 in mysqld | mariadbd | initialize) ;; *) exec "$@" ;; esac
for option; do
    case $option in --help | -\? | --version | -V) exec "$@" ;; esac
done
command=$1
shift

as_mysql=()
if [ "$(id -u)" = 0 ]; then
    mkdir -p "$data" /run/mysqld /var/lib/mysql-files
    chown mysql:mysql "$data" /run/mysqld /var/lib/mysql-files
    chmod 1777 /run/mysqld      # for other users, and as the mode of a disk in memory at this place
    as_mysql=(setpriv --reuid=mysql --regid=mysql --init-groups --)
fi

# new_data FOLDER OPTION...: makes the data of a new server.
new_data() {
    local folder=$1
    shift
    if [ "$product" = MARIADB ]; then
        "${as_mysql[@]}" mariadb-install-db --datadir="$folder" --auth-root-authentication-method=normal \
            --skip-test-db --skip-name-resolve > /dev/null
    else
        "${as_mysql[@]}" "$server" "$@" --datadir="$folder" --initialize-insecure --default-time-zone=SYSTEM
        rm "$folder/auto.cnf"       # each server gets a UUID of its own
    fi
}

if [ "$command" = initialize ]; then
    install -d -o mysql -g mysql "$initial"
    new_data "$initial"
    exit
fi
if [ -d "$data/mysql" ]; then
    exec "${as_mysql[@]}" "$server" "$@"
fi

root_password=$(setting ROOT_PASSWORD)
if [ -z "$root_password" ] && [ -n "$(setting RANDOM_ROOT_PASSWORD)" ]; then
    root_password=$(head -c 18 /dev/urandom | base64)
    echo "entrypoint: GENERATED ROOT PASSWORD: $root_password"
fi
allow_empty=$(setting ALLOW_EMPTY_PASSWORD)$(setting ALLOW_EMPTY_ROOT_PASSWORD)
if [ -z "$root_password" ] && [ -z "$allow_empty" ]; then
    fail "set one of ${product}_ROOT_PASSWORD, ${product}_ALLOW_EMPTY_PASSWORD, ${product}_RANDOM_ROOT_PASSWORD"
fi
[ "$(setting USER)" != root ] || fail "${product}_USER=root: use ${product}_ROOT_PASSWORD instead"
if compgen -G '/docker-entrypoint-initdb.d/*' > /dev/null; then
    fail "/docker-entrypoint-initdb.d is not supported by this image"
fi

# An option that must be the same for the whole life of the data cannot be given later. The copy is not
# sparse: on a full disk the server could not write into its own files.
case " $* " in
    *lower*case* | *innodb?page* | *innodb?data* | *innodb?undo*) new_data "$data" "$@" ;;
    *) "${as_mysql[@]}" cp -a --sparse=never "$initial/." "$data" ;;
esac
sql=$(mktemp)
initial_sql "$root_password" > "$sql"
[ ${#as_mysql[@]} -eq 0 ] || chown mysql "$sql"
unset MYSQL_ROOT_PASSWORD MARIADB_ROOT_PASSWORD MYSQL_PASSWORD MARIADB_PASSWORD
exec "${as_mysql[@]}" "$server" "$@" --init-file="$sql"
