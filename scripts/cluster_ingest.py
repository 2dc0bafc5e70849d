#!/usr/bin/env python3
"""Logs per CPU second of an ingest by one process and by a cluster on loopback, and whether both lakes have the same rows.

    scripts/cluster_ingest.py --iolode target/release/iolode --logs LOGS --executors 2 --cores 1 --out benches/proofs/cluster_ingest.md

By turns, --takes times; a take of the cluster counts client, scheduler and executors. The process has as many threads as the cluster has cores.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

from cluster_answers import cpu_of, run
from cluster_kills import Cluster
from cluster_soak import peak

TOTALS = ["SELECT count(*), count(DISTINCT log_id), sum(bytes_read), sum(bytes_written) FROM darshan_log",
          "SELECT count(*), sum(bytes_read), sum(bytes_written), count(DISTINCT record_id) FROM darshan_file"]


def totals(iolode, lake):
    answers = [subprocess.run([iolode, "sql", "--lake", lake, "--format", "csv", "-c", sql], capture_output=True, text=True) for sql in TOTALS]
    return [answer.stdout for answer in answers]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iolode", required=True)
    parser.add_argument("--logs", required=True)
    parser.add_argument("--executors", type=int, default=2)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--takes", type=int, default=1)
    parser.add_argument("--memory", default="1GiB", help="of an executor")
    parser.add_argument("--out", help="where the result is added")
    args = parser.parse_args()
    here, there, lines = [], [], []
    for take in range(args.takes):
        with tempfile.TemporaryDirectory(prefix="iolode-ingest-", dir=os.environ.get("TMPDIR")) as work:
            lakes = [os.path.join(work, name) for name in ["here", "there"]]
            for lake in lakes:
                run(args.iolode, "lake", "create", lake)
            ingest = lambda lake, *more: run(args.iolode, "ingest", "--lake", lake, "--darshan", args.logs, *more)
            alone, cpu, wall = ingest(lakes[0], "--threads", str(args.executors * args.cores))
            imported = re.search(r"(\d[\d ]*) inputs imported", alone.stderr + alone.stdout)
            if alone.returncode not in (0, 1) or not imported:
                sys.exit(alone.stderr)
            logs = int(imported.group(1).replace(" ", ""))
            here.append(logs / cpu)
            cluster = Cluster(args.iolode, lakes[1], args.executors, args.cores, ["--memory", args.memory])
            try:
                processes = [cluster.scheduler, *cluster.executors]
                before = sum(cpu_of(process.pid) for process in processes)
                begin = time.time()
                spread, of_client, _ = ingest(lakes[1], "--cluster", cluster.file)
                clock = time.time() - begin
                of_cluster = sum(cpu_of(process.pid) for process in processes) - before
                peaks = [peak(process.pid) for process in processes]
            finally:
                cluster.end()
            if spread.returncode not in (0, 1):
                sys.exit(spread.stderr)
            there.append(logs / (of_client + of_cluster))
            same = totals(args.iolode, lakes[0]) == totals(args.iolode, lakes[1])
            lines.append(f"{logs} logs: {cpu:.1f} CPU s, {wall:.1f} s by one process of {args.executors * args.cores} threads; {of_client:.1f} CPU s of the client and "
                         f"{of_cluster:.1f} of scheduler and {args.executors} executors of {args.cores} cores, {clock:.1f} s; the same totals: {'yes' if same else 'NO'}; "
                         f"most resident MiB: scheduler {peaks[0]}, executors {peaks[1:]} with --memory {args.memory}.")
            print(lines[-1], flush=True)
    lines.append(f"Logs per CPU second on the cluster against in one process: {statistics.median(there) / statistics.median(here):.2f} ({statistics.median(there):.0f} and "
                 f"{statistics.median(here):.0f}).")
    print(lines[-1])
    if args.out:
        with open(args.out, "a") as out:
            out.write("\n".join(lines) + "\n")
    sys.exit(any("NO;" in line for line in lines))


if __name__ == "__main__":
    main()
