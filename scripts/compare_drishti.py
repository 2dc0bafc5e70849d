#!/usr/bin/env python3
"""What Drishti says of logs beside what iolode says: verdicts by code, every log of which they differ, and the CPU time of both.

    pip install drishti-io==0.8        # into a virtual environment; the package `drishti` is another one
    scripts/compare_drishti.py --drishti VENV/bin/drishti [--iolode target/release/iolode] [--synthetic 500] [--out FILE] LOGS..

`drishti` of iolode has the tool's own formulas and must agree with it in each of the 32 verdicts of each log that the tool can
read; EXPECTED has the differences that are known, with who is right. `advice` is corrected, and differs: the page tells how often, in which logs, and who is right (REASONS).
Exit 1 if a verdict of either differs without a reason.
"""

import argparse
import collections
import csv
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import time

CODES = ["S01", *(f"P{n:02}" for n in range(1, 23) if n != 20), *(f"M{n:02}" for n in range(1, 11))]
# Of a part of a log's name: the codes that differ, and why.
EXPECTED = {
    "mpi-io-test-ppc64-3.0.0": ({"P19"}, "the tool's library does not swap the bytes of F_META_TIME in big-endian logs; the log has 0.13 where it computes 0.19"),
}

# Where `advice` and the tool differ: who is right, where the tool has a verdict alone and where `advice` has.
BYTES = "100 MB"
REASONS = {
    "S01": (f"`advice`: standard streams are no data path, and less than {BYTES} through STDIO costs nothing", "`advice`: little of the bytes, but a tenth of the run time"),
    **dict.fromkeys(("P01", "P02"), ("`advice`: up to 1,000 requests say nothing of what a program does", "`advice`: standard streams are left out")),
    **dict.fromkeys(("P03", "P04"), (f"`advice`: less than {BYTES} say nothing of what a program does", "`advice`: a file's bytes are those of the layer that the program called, STDIO too; the tool knows POSIX alone")),
    **dict.fromkeys(("P05", "P06"), ("`advice`: in no file are they more than a tenth, or they are those of standard streams", "`advice`: the tool adds up all files, so that many large requests of one file hide the small ones of another")),
    "P07": ("`advice`: up to 1,000 accesses cost nothing", "`advice`: standard streams are left out"),
    "P08": ("`advice`: up to 1,000 accesses cost nothing, and a file shorter than a block cannot be aligned", "`advice`: the tool adds up all files, so that the aligned requests of one hide the others"),
    **dict.fromkeys(("P09", "P10"), ("`advice`: the tool's condition is the wrong way round: an offset beyond the bytes is a file that was moved in part", "`advice`: more bytes than the file has were moved, file by file")),
    **dict.fromkeys(("P11", "P13"), ("`advice`: the first request of each process is not random", "not seen")),
    **dict.fromkeys(("P12", "P14"), ("`advice`: up to 1,000 requests say nothing, and where records are missing nothing is said to be well", "`advice`: the tool counts first requests as random")),
    **dict.fromkeys(("P15", "P16"), ("`advice`: in no file are they more than a tenth", "`advice`: a file of 1,023 of 1,024 processes is shared; the tool asks for a record of all")),
    "P17": ("`advice`: the time of a shared record is that of all its processes, which the tool takes for one", "`advice`: under 30 s, but a tenth of the run time"),
    "P18": (f"`advice`: files of less than {BYTES}, and collective ones, whose aggregators are meant to move all", "`advice`: the spread over all processes; two processes' difference by the total hides one of many"),
    "P19": ("`advice`: the slowest process takes less than a second, or the mean one as long as half of it", "`advice`: the mean process waits; two processes' difference by the total hides one straggler of many"),
    **dict.fromkeys(("P21", "P22"), (f"`advice`: files of less than {BYTES}, and collective ones, whose aggregators are meant to move all", "`advice`: the greatest beside the mean")),
    "M01": (f"`advice`: one process, files of one process each, or less than {BYTES} in shared files have nothing to gain", "not seen"),
    **dict.fromkeys(("M02", "M03"), ("`advice`: the files are of one process each", "`advice`: one collective call anywhere keeps the tool from a word about thousands of independent ones")),
    **dict.fromkeys(("M04", "M05"), ("`advice`: one collective call among independent ones makes a log not collective; and where records are missing nothing is said to be well", "not seen")),
    **dict.fromkeys(("M06", "M07"), ("`advice`: nothing waits: less than 1 s, or a tenth of the run time, in MPI-IO calls", "`advice`: standard streams and other modules do not count")),
    **dict.fromkeys(("M08", "M09", "M10"), ("`advice`: the hints of a log are those with which Darshan wrote it", "`advice`: from what the processes moved; the tool needs sacct")),
}


def cpu(command, **options):
    """A finished program, with the seconds of CPU time that it took."""
    before = os.times()
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    after = os.times()
    return done, after.children_user + after.children_system - before.children_user - before.children_system


def of_the_tool(drishti, log, directory):
    """Its codes, or why it has none; and its CPU time."""
    try:
        done, seconds = cpu([drishti, "--csv", "--export_dir", directory, log], timeout=300)
    except subprocess.TimeoutExpired:
        return None, "no end after 300 s", 300.0
    tables = list(pathlib.Path(directory).glob("*.csv"))
    rows = [row for table in tables for row in csv.DictReader(table.open())]
    for table in tables:
        table.unlink()
    if len(rows) != 1:
        said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        return None, said[-1].strip() if said else f"exit code {done.returncode}", seconds
    return {code for code in CODES if rows[0][code] == "True"}, None, seconds


def ask(iolode, lake, sql):
    done, seconds = cpu([iolode, "sql", "--lake", lake, "--format", "csv", "-c", sql])
    if done.returncode:
        sys.exit(f"{sql}: {done.stderr}")
    return list(csv.DictReader(io.StringIO(done.stdout))), seconds


def of_iolode(iolode, logs, directory):
    """By log name: the codes of `drishti`, those of `advice`, those of it that are a warning or critical; and CPU times."""
    lake = pathlib.Path(directory) / "lake"
    (links := pathlib.Path(directory) / "logs").mkdir()
    for number, log in enumerate(logs):
        (links / f"{number}.darshan").symlink_to(log.resolve())
    done, ingest = cpu([iolode, "ingest", "--lake", lake, "--create", "--darshan", links])
    if done.returncode not in (0, 1, 3):
        sys.exit(done.stderr)
    names, _ = ask(iolode, lake, "SELECT log_id, log_path FROM darshan_log")
    names = {row["log_id"]: logs[int(pathlib.Path(row["log_path"]).stem)] for row in names}
    tool, first = ask(iolode, lake, "SELECT * FROM drishti()")
    advice, second = ask(iolode, lake, "SELECT log_id, code, severity FROM advice(severity => 'ok')")
    verdicts = {names[row["log_id"]]: ({code for code in CODES if row[code.lower()] == "true"}, set(), set()) for row in tool}
    for row in advice:
        if row["code"] in CODES:
            _, all_of, findings = verdicts[names[row["log_id"]]]
            all_of.add(row["code"])
            if row["severity"] in ("critical", "warning"):
                findings.add(row["code"])
    return verdicts, {"ingest": ingest, "drishti": first, "advice": second}


def named(logs):
    """How many logs, and up to three of their names."""
    names = ", ".join(log.name.removesuffix(".darshan")[:40] for log in logs[:3])
    return f"{len(logs)}: {names}{', ..' if len(logs) > 3 else ''}"


def compared(name, logs, asked):
    """Lines about a set of logs, and the differences without a reason."""
    with tempfile.TemporaryDirectory() as directory:
        ours, seconds = of_iolode(asked.iolode, logs, directory)
        (out := pathlib.Path(directory) / "out").mkdir()
        theirs, failed, spent = {}, [], 0.0
        for log in logs:
            codes, why, took = of_the_tool(asked.drishti, log, out)
            spent += took
            if codes is None:
                failed.append((log, why))
            else:
                theirs[log] = codes
    both = [log for log in theirs if log in ours]
    counts = collections.defaultdict(collections.Counter)
    alone = {code: ([], []) for code in CODES}
    differences, unexplained = [], []
    for log in both:
        same, advice, findings = ours[log]
        for code in CODES:
            fires = code in theirs[log]
            counts[code]["tool"] += fires
            counts[code]["drishti"] += code in same
            counts[code]["advice"] += code in advice
            counts[code]["finding"] += code in findings
            counts[code]["both"] += fires and code in advice
            if fires != (code in advice):
                alone[code][code in advice].append(log)
            if fires != (code in same):
                known = [why for part, (codes, why) in EXPECTED.items() if part in log.name and code in codes]
                differences.append(f"- {log.name}, {code}: the tool {'has' if fires else 'has not'} it: {known[0] if known else 'UNEXPLAINED'}")
                unexplained += [] if known else [f"{log.name} {code}"]
    ours_all = sum(seconds.values())
    lines = [f"## {name}", "", f"{len(logs)} logs: the tool reads {len(theirs)}, iolode {len(ours)}. {32 * len(both)} verdicts compared, {len(differences)} differ.", ""]
    lines += ["| code | tool | `drishti` | `advice` | of these warning or critical | tool and `advice` | tool alone | `advice` alone |", "|---|---|---|---|---|---|---|---|"]
    for code in CODES:
        n = counts[code]
        if any(n.values()):
            lines.append(f"| {code} | {n['tool']} | {n['drishti']} | {n['advice']} | {n['finding']} | {n['both']} | {n['tool'] - n['both']} | {n['advice'] - n['both']} |")
    total = {key: sum(n[key] for n in counts.values()) for key in ("tool", "drishti", "advice", "finding", "both")}
    lines.append(f"| all | {total['tool']} | {total['drishti']} | {total['advice']} | {total['finding']} | {total['both']} | {total['tool'] - total['both']} | {total['advice'] - total['both']} |")
    lines += ["", *(["Differences of `drishti` from the tool:", "", *differences, ""] if differences else [])]
    lines += ["Where `advice` differs from the tool, and who is right:", "", "| code | alone | logs | right is |", "|---|---|---|---|"]
    for code in CODES:
        for who, (logs_alone, why) in zip(("the tool", "`advice`"), zip(alone[code], REASONS[code])):
            if logs_alone:
                lines.append(f"| {code} | {who} | {named(logs_alone)} | {why} |")
                unexplained += [f"{code}, {who} alone"] if why == "not seen" else []
    lines += [""]
    lines += [*(["Logs that the tool does not read:", "", *(f"- {log.name}: {why}" for log, why in failed), ""] if failed else [])]
    lines += [f"CPU: the tool {spent:.1f} s, {spent / max(len(logs), 1):.2f} s a log; iolode {ours_all:.2f} s for all ({', '.join(f'{key} {value:.2f}' for key, value in seconds.items())}): 1/{spent / ours_all:.0f}.", ""]
    return lines, unexplained


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("logs", nargs="+", type=pathlib.Path, help="directories of logs")
    parse.add_argument("--iolode", default="target/release/iolode")
    parse.add_argument("--drishti", required=True)
    parse.add_argument("--synthetic", type=int, default=500, help="logs of a synthetic month besides")
    parse.add_argument("--out", type=pathlib.Path)
    asked = parse.parse_args()
    began = time.time()
    real = sorted(log for directory in asked.logs for log in directory.rglob("*.darshan"))
    lines, unexplained = compared("Real logs", real, asked)
    if asked.synthetic:
        with tempfile.TemporaryDirectory() as directory:
            out = pathlib.Path(directory) / "month"
            done, _ = cpu([asked.iolode, "synth", "--month", "causes", "--jobs", asked.synthetic, "--seed", 7, "--out", out])
            if done.returncode:
                sys.exit(done.stderr)
            more, odd = compared("Synthetic logs", sorted(out.rglob("*.darshan"))[: asked.synthetic], asked)
            lines += more
            unexplained += odd
    text = "\n".join(lines)
    print(text)
    if asked.out:
        asked.out.write_text(text + "\n")
    print(f"{time.time() - began:.0f} s", file=sys.stderr)
    for odd in unexplained:
        print(f"failed: {odd} differs without a reason", file=sys.stderr)
    sys.exit(bool(unexplained))


if __name__ == "__main__":
    main()
