#!/usr/bin/env python3
"""Asks a cluster on loopback very many small statements, and reads the memory of its processes from /proc meanwhile.

    scripts/cluster_memory.py --iolode target/release/iolode --lake LAKE --statements 10000 --out benches/proofs/soak.md

Each of --clients is one process that is given its statements on its standard input. Every statement runs on the cluster, has a shuffle, and has one row.
"""

import argparse
import subprocess
import sys
import tempfile
import time

from cluster_kills import Cluster
from cluster_soak import peak, rss

STATEMENT = "SELECT count(DISTINCT app) + {n} AS n FROM darshan_log;\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iolode", required=True)
    parser.add_argument("--lake", required=True)
    parser.add_argument("--statements", type=int, default=10000)
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--out", help="where the result is added")
    args = parser.parse_args()
    cluster = Cluster(args.iolode, args.lake, 1, 2)
    scheduler, executor = cluster.scheduler.pid, cluster.executors[0].pid
    ask = [args.iolode, "sql", "--lake", args.lake, "--format", "csv"]
    plain = subprocess.run([*ask, "-c", STATEMENT.format(n=0)], capture_output=True, text=True, check=True)
    first = int(plain.stdout.split()[1])
    each = args.statements // args.clients
    sizes, clients = [], []
    try:
        for client in range(args.clients):
            statements = tempfile.TemporaryFile("w+")
            statements.writelines(STATEMENT.format(n=n) for n in range(each))
            statements.seek(0)
            answers = tempfile.TemporaryFile("w+")
            command = [*ask, "--cluster", cluster.file, "--cluster-above", "0"]
            clients.append((subprocess.Popen(command, stdin=statements, stdout=answers, text=True), answers))
        while any(client.poll() is None for client, _ in clients):
            sizes.append([rss(pid) >> 20 for pid in (scheduler, executor)])
            time.sleep(10)
        right = 0
        for _, answers in clients:
            answers.seek(0)
            numbers = [int(line) for line in answers if line.strip().isdigit()]
            right += sum(number == first + n for n, number in enumerate(numbers))
        line = (f"{args.statements} statements by {args.clients} clients, {right} right. Resident MiB over time: scheduler "
                f"{' '.join(str(size) for size, _ in sizes[:: max(1, len(sizes) // 10)])}, at most {peak(scheduler)}; executor "
                f"{' '.join(str(size) for _, size in sizes[:: max(1, len(sizes) // 10)])}, at most {peak(executor)}.")
    finally:
        cluster.end()
    print(line)
    if args.out:
        with open(args.out, "a") as out:
            out.write(line + "\n\n")
    sys.exit(right != each * args.clients)


if __name__ == "__main__":
    main()
