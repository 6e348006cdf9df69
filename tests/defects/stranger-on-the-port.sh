#!/usr/bin/env bash
# A rank of another job comes to the port of a running one: that one must continue, and the stranger must be told who has the port.
. "$(dirname "$0")/support.sh"
port=$(free_port)
ompi() { # ompi JOB RANK ARGUMENTS...: as mpirun leaves the environment
  local job=$1 number=$2
  shift 2
  OMPI_COMM_WORLD_RANK=$number OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=$number OMPI_COMM_WORLD_LOCAL_SIZE=2 \
    PMIX_NAMESPACE=$job MASTER_ADDR=127.0.0.1 MASTER_PORT=$port exec "$bin/troika" train "${small[@]}" "$@"
}
ompi first 0 --steps 100000 --out "$work/a" > "$work/a0.txt" 2>&1 &
zero=$!
ompi first 1 --steps 100000 --out "$work/a" > "$work/a1.txt" 2>&1 &
one=$!
await 30 has_rows "$work/a" 3 || cannot "the first job does not begin: $(last_line "$work/a0.txt")"
(ompi second 1 --steps 300 --out "$work/b" --comm.join-seconds 5) > "$work/b1.txt" 2>&1
stranger=$?
kill -TERM $zero $one 2> /dev/null # a job of another launch may have ended it already
await 120 all_ended $zero $one || symptom "the first job does not end any more"
code_of zero $zero
code_of one $one
[ "$zero $one" = "130 130" ] || symptom "a stranger's rank ends the first job (exit codes $zero, $one): $(last_line "$work/a0.txt")"
[ $stranger = 2 ] || symptom "the stranger ends with exit code $stranger: $(last_line "$work/b1.txt")"
holds 'held by|belongs to' "$work/b1.txt" || symptom "the stranger is not told who has the port: $(last_line "$work/b1.txt")"
passes
