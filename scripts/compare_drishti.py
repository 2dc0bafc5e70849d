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


class Compared:
    """Verdicts on a set of logs by both."""

    def __init__(self, name, logs, asked):
        self.name, self.logs = name, logs
        with tempfile.TemporaryDirectory() as directory:
            self.ours, self.seconds = of_iolode(asked.iolode, logs, directory)
            (out := pathlib.Path(directory) / "out").mkdir()
            self.theirs, self.failed, self.spent = {}, [], 0.0
            for log in logs:
                codes, why, took = of_the_tool(asked.drishti, log, out)
                self.spent += took
                if codes is None:
                    self.failed.append((log, why))
                else:
                    self.theirs[log] = codes
        self.counts = collections.defaultdict(collections.Counter)
        self.alone = {code: ([], []) for code in CODES}
        self.differences, self.unexplained = [], []
        for log in self.both():
            for code in CODES:
                self.add(log, code)

    def both(self):
        return [log for log in self.theirs if log in self.ours]

    def add(self, log, code):
        same, advice, findings = self.ours[log]
        fires = code in self.theirs[log]
        for counted in (self.counts[code], self.counts["all"]):
            counted["tool"] += fires
            counted["drishti"] += code in same
            counted["advice"] += code in advice
            counted["finding"] += code in findings
        if fires != (code in advice):
            self.alone[code][code in advice].append(log)
        if fires != (code in same):
            known = [why for part, (codes, why) in EXPECTED.items() if part in log.name and code in codes]
            self.differences.append(f"- {log.name}, {code}: the tool {'has' if fires else 'has not'} it: {known[0] if known else 'UNEXPLAINED'}")
            self.unexplained += [] if known else [f"{log.name} {code}"]

    def lines(self):
        """What is no table."""
        both, ours = self.both(), sum(self.seconds.values())
        yield f"{self.name}: {len(self.logs)} logs, of which the tool reads {len(self.theirs)}, iolode {len(self.ours)}. {32 * len(both)} verdicts of `drishti` compared, {len(self.differences)} differ."
        yield f"CPU: the tool {self.spent:.1f} s, {self.spent / max(len(self.logs), 1):.2f} s a log; iolode {ours:.2f} s for all ({', '.join(f'{key} {value:.2f}' for key, value in self.seconds.items())}): 1/{self.spent / ours:.0f}."
        yield ""
        yield from self.differences
        yield from (f"- {log.name} is not read by the tool: {why}" for log, why in self.failed)
        yield ""


def tables(sets):
    """The verdicts of all sets by code, and where `advice` and the tool differ, with who is right; and what has no reason."""
    cell = lambda of: " / ".join(str(of(one)) for one in sets)
    lines = [f"Each cell is of {' / '.join(one.name.lower() for one in sets)}.", ""]
    lines += ["| code | tool | `drishti` | `advice` | of these warning or critical |", "|---|---|---|---|---|"]
    for code in [*CODES, "all"]:
        if any(any(one.counts[code].values()) for one in sets):
            lines.append(f"| {code} | " + " | ".join(cell(lambda one: one.counts[code][key]) for key in ("tool", "drishti", "advice", "finding")) + " |")
    lines += ["", "Where `advice` differs from the tool, and who is right:", "", "| code | alone | logs | one of them | right is |", "|---|---|---|---|---|"]
    unexplained = []
    for code in CODES:
        for who, (side, why) in zip(("the tool", "`advice`"), enumerate(REASONS[code])):
            logs = [log for one in sets for log in one.alone[code][side]]
            if logs:
                lines.append(f"| {code} | {who} | {cell(lambda one: len(one.alone[code][side]))} | {logs[0].name.removesuffix('.darshan')[:40]} | {why} |")
                unexplained += [f"{code}, {who} alone"] if why == "not seen" else []
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
    sets = [Compared("Real logs", real, asked)]
    if asked.synthetic:
        with tempfile.TemporaryDirectory() as directory:
            out = pathlib.Path(directory) / "month"
            done, _ = cpu([asked.iolode, "synth", "--month", "causes", "--jobs", asked.synthetic, "--seed", 7, "--out", out])
            if done.returncode:
                sys.exit(done.stderr)
            sets.append(Compared("Synthetic logs", sorted(out.rglob("*.darshan"))[: asked.synthetic], asked))
    by_code, unexplained = tables(sets)
    unexplained += [odd for one in sets for odd in one.unexplained]
    lines = [line for one in sets for line in one.lines()] + by_code
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
