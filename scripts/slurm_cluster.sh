#!/usr/bin/env bash
# Runs the script of `iolode cluster sbatch` on a real Slurm of one machine: munged, slurmctld and two slurmd as processes on loopback.
#
#   scripts/slurm_cluster.sh IOLODE LAKE
#
# Needs root, util-linux, iproute2, and Debian's Slurm: apt-get install slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge.
# It runs in namespaces of its own (mounts, processes, network, host name), so that it touches no other Slurm, and changes nothing on the machine. All files are in a
# temporary directory. For each way in which a job ends it submits a job, compares a query through the cluster with its answer in process, ends the job, and looks at the
# job's state and whether a process is left.
set -euo pipefail

fail() { echo "slurm_cluster.sh: $1" >&2; exit 1; }
[ $# = 2 ] || fail "usage: slurm_cluster.sh IOLODE LAKE"
[ "$(id -u)" = 0 ] || fail "must be root, for slurmd"
for program in munged slurmctld slurmd sbatch srun squeue scancel scontrol unshare ip; do
    command -v "$program" > /dev/null || fail "there is no $program; see the head of this script"
done

if [ -z "${IOLODE_SLURM_DIRECTORY:-}" ]; then
    directory=$(mktemp -d)
    trap 'rm -rf "$directory"' EXIT
    # All processes end with the first one of the namespace.
    IOLODE_SLURM_DIRECTORY=$directory unshare --mount --pid --net --uts --fork --kill-child --mount-proc "$0" "$(realpath "$1")" "$(realpath "$2")"
    exit
fi

iolode=$1
lake=$2
T=$IOLODE_SLURM_DIRECTORY
cores=$(nproc)
hostname iolode-machine
ip link set lo up
# Slurm asks for addresses with AI_ADDRCONFIG, for which a machine with 127.0.0.1 alone has none. 192.0.2.0/24 is for documentation.
ip address add 192.0.2.1/32 dev lo
echo "127.0.0.1 localhost
192.0.2.1 iolode-machine node1 node2" > "$T/hosts"
mount --bind "$T/hosts" /etc/hosts
mkdir "$T/state" "$T/spool" "$T/log" "$T/run" "$T/jobs"
export SLURM_CONF=$T/slurm.conf

# Waits until a command succeeds: wait_until SECONDS WHAT COMMAND..
wait_until() {
    local end=$((SECONDS + $1)) what=$2
    shift 2
    until "$@" > /dev/null 2>&1; do
        if [ $SECONDS -ge $end ]; then
            tail -n 20 "$T"/log/*.log "$T"/jobs/*.out >&2 || true
            fail "$what: not within the time"
        fi
        sleep 0.2
    done
}

cat > "$SLURM_CONF" <<END
ClusterName=iolode
SlurmctldHost=iolode-machine(192.0.2.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$T/run/munge.socket
CredType=cred/munge
SlurmctldPort=6817
SlurmctldPidFile=$T/run/slurmctld.pid
SlurmdPidFile=$T/run/slurmd.%n.pid
StateSaveLocation=$T/state
SlurmdSpoolDir=$T/spool/%n
SlurmctldLogFile=$T/log/slurmctld.log
SlurmdLogFile=$T/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
NodeName=node[1-2] NodeHostname=iolode-machine NodeAddr=192.0.2.1 Port=[17001-17002] CPUs=$cores RealMemory=8000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=60 State=UP
END

head -c 1024 /dev/urandom > "$T/run/munge.key"
chmod 600 "$T/run/munge.key"
chmod 711 "$T" "$T/run"
munged --force --foreground --key-file="$T/run/munge.key" --socket="$T/run/munge.socket" --pid-file="$T/run/munged.pid" \
    --log-file="$T/log/munged.log" --seed-file="$T/run/munged.seed" 2> "$T/log/munged.out" &
wait_until 10 "munged" test -S "$T/run/munge.socket"
slurmctld -D > "$T/log/slurmctld.out" 2>&1 &
for node in node1 node2; do
    mkdir -p "$T/spool/$node"
    slurmd -D -N "$node" > "$T/log/$node.out" 2>&1 &
done
both_idle() { [ "$(sinfo --noheader --states=idle --format=%D)" = 2 ]; }
wait_until 60 "two idle nodes" both_idle
echo "$(slurmctld -V), $(sinfo --noheader --format='%D nodes of %c cores'), $("$iolode" --version)"
echo

# Exchanges rows, and sorts the answer.
sql="SELECT l.app, count(DISTINCT f.path) AS files, sum(f.bytes_read) AS bytes_read FROM darshan_file f JOIN darshan_log l ON l.log_id = f.log_id
  GROUP BY l.app ORDER BY files DESC, l.app"
ask() { "$iolode" sql --lake "$lake" --format csv -c "$sql" "$@"; }
ask > "$T/in_process.csv"

status() { "$iolode" cluster status --connect-file "$file"; }
# Not a pipe to grep -q: the pipe would close while the status is printed.
has_executors() { [[ $(status) == *"2 executors, "* ]]; }
state() { scontrol --oneliner show job "$job" | grep -o ' JobState=[A-Z_]*' | cut -d = -f 2; }
has_ended() { [ -z "$(squeue --noheader --jobs="$job" 2> /dev/null)" ]; }
processes() { pgrep --count --full "^$iolode cluster" || true; }

# Runs the query through the cluster.
compare() {
    ask --cluster "$file" --cluster-above 0 -v > answer.csv 2> said || fail "$(cat said)"
    grep -q 'ran on the cluster' said || fail "the query did not run on the cluster"
    cmp answer.csv "$T/in_process.csv" || fail "another answer"
}

# The pids of one kind of process, `scheduler` or `executor`.
pids() { pgrep --full "^$iolode cluster $1 "; }

# One job: trial NAME "OPTIONS OF THE SCRIPT" STATE COMMAND.., which ends the job with that state.
trial() {
    local name=$1 options=$2 expected=$3 began
    shift 3
    cd "$T/jobs"
    # shellcheck disable=SC2086
    "$iolode" cluster sbatch --lake "$lake" --nodes 2 $options > job.sh
    job=$(sbatch --parsable job.sh)
    file=$T/jobs/iolode-cluster-$job.toml
    wait_until 60 "$name: the connect file" test -e "$file"
    wait_until 60 "$name: two executors" has_executors
    echo "== $name: job $job, $options"
    squeue --steps --noheader --jobs="$job" --format='   step %i on %N'
    status | sed 's/^/   /'
    compare
    echo "   answer of $(($(wc -l < answer.csv) - 1)) rows is that of one process; $(processes) processes of the cluster run"
    began=$SECONDS
    "$@"
    wait_until 180 "$name: the job's end" has_ended
    echo "   ended $((SECONDS - began)) s later: $(state)"
    [ "$(state)" = "$expected" ] || fail "$name: expected $expected"
    [ "$(processes)" = 0 ] || fail "$name: $(processes) processes are left"
    "$iolode" cluster status --connect-file "$file" > status 2>&1 && fail "$name: the cluster answers"
    echo "   no process is left; connect file: $([ -e "$file" ] && echo there || echo removed)"
    sed 's/^/   | /' "slurm-$job.out"
    echo
}

terminate() { scancel --batch --signal=TERM "$job"; }
cancel() { scancel "$job"; }
stop() { "$iolode" cluster stop --connect-file "$file"; }
kill_scheduler() { kill -KILL "$(pids scheduler)"; }
kill_executor() {
    kill -KILL "$(pids executor | head -n 1)"
    wait_until 30 "a cluster of one executor" has_one_executor
    compare
    echo "   the other executor gave the same answer"
    stop
}
has_one_executor() { [[ $(status) == *"1 executor, "* ]]; }

small="--time 10 --cores 1 --memory 1G"
trial "SIGTERM to the script" "$small" COMPLETED terminate
trial "iolode cluster stop" "$small" COMPLETED stop
trial "scancel" "$small" CANCELLED cancel
trial "scheduler killed" "$small" FAILED kill_scheduler
trial "an executor killed, then iolode cluster stop" "$small" FAILED kill_executor
trial "time limit of 2 minutes, whole nodes" "--time 2 --partition all" COMPLETED true
echo "all jobs ended as they should"
