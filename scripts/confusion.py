#!/usr/bin/env python3
"""How well root_causes finds what synth planted: the confusion matrix by effect size.

    scripts/confusion.py [--iolode target/release/iolode] [--jobs 1200] [--seeds 1 2 3] [--out FILE]

For each seed a month with planted causes, near misses and decoys, and a clean month, are written, taken into lakes and
asked. A finding is a row of `root_causes` for a log and direction. Exit 1 unless, over all seeds, precision and recall
at effect 5 are at least 0.99 and the clean months have no finding. The thresholds stand in queries/rules;
what an effect means is written in src/synth/cause.rs.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

NOTHING = "nothing"


def run(iolode, *arguments):
    done = subprocess.run([iolode, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"iolode {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def month(iolode, kind, jobs, seed, directory):
    """Its planted jobs, and the findings: (job_id, direction) -> causes."""
    logs, lake = directory / f"{kind}-{seed}", directory / f"{kind}-{seed}-lake"
    run(iolode, "synth", "--month", kind, "--jobs", jobs, "--seed", seed, "--out", logs)
    run(iolode, "ingest", "--lake", lake, "--create", "--darshan", logs)
    planted = json.loads((logs / "truth.json").read_text())["jobs"]
    found = collections.defaultdict(set)
    for row in json.loads(run(iolode, "query", "root_causes", "--lake", lake, "--format", "json")):
        found[int(row["job_id"]), row["direction"]].add(row["cause"])
    return planted, found


def tally(planted, found, counts, odd):
    """Adds a month to counts[group][expected cause, found cause]."""
    for job in planted:
        # 64-bit ids are strings in JSON.
        job_id, direction = int(job["job_id"]), job["direction"]
        expected = set(job["causes"])
        group = f"effect {job['effect']:g}" if expected else f"decoy {job['decoy']}" if job["decoy"] else "healthy"
        seen = found.get((job_id, direction), set())
        other = set().union(*(causes for (known, side), causes in found.items() if known == job_id and side != direction))
        for cause in expected:
            counts[group][cause, cause if cause in seen else NOTHING] += 1
        for cause in (seen | other) - expected:
            counts[group][NOTHING, cause] += 1
        if not expected and not seen | other:
            counts[group][NOTHING, NOTHING] += 1
        if (seen | other) - expected or (expected - seen and job["effect"] == 5):
            odd.append(f"job {job_id} ({group}): {sorted(expected)} planted, {sorted(seen | other)} found")


def matrix(counts):
    causes = sorted({cause for group in counts.values() for pair in group for cause in pair} - {NOTHING}) + [NOTHING]
    lines = []
    for group in sorted(counts):
        lines += ["", f"### {group}", "", "| planted \\ found | " + " | ".join(causes) + " |", "|---" * (len(causes) + 1) + "|"]
        for expected in causes:
            row = [counts[group][expected, seen] for seen in causes]
            if any(row):
                lines.append(f"| {expected} | " + " | ".join(str(n) if n else "." for n in row) + " |")
    return lines


def scores(group):
    """True findings, false ones, missed ones, of a group of logs."""
    true = sum(n for (expected, seen), n in group.items() if expected == seen != NOTHING)
    false = sum(n for (expected, seen), n in group.items() if expected != seen and seen != NOTHING)
    missed = sum(n for (expected, seen), n in group.items() if expected != seen and seen == NOTHING)
    return true, false, missed


def share(part, whole):
    return f"{part / whole:.4f}" if whole else "-"


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--iolode", default="target/release/iolode")
    parse.add_argument("--jobs", type=int, default=1200, help="of each month")
    parse.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parse.add_argument("--out", type=pathlib.Path, help="write the matrix to this file too")
    asked = parse.parse_args()
    counts, clean, odd = collections.defaultdict(collections.Counter), collections.Counter(), []
    with tempfile.TemporaryDirectory() as directory:
        for seed in asked.seeds:
            directory_of_seed = pathlib.Path(directory)
            tally(*month(asked.iolode, "causes", asked.jobs, seed, directory_of_seed), counts, odd)
            planted, found = month(asked.iolode, "clean", asked.jobs, seed, directory_of_seed)
            clean["logs"] += len(planted)
            clean["findings"] += sum(len(causes) for causes in found.values())
    # What is found in healthy logs and decoys is a false finding at any effect.
    beside = sum(scores(group)[1] for name, group in counts.items() if not name.startswith("effect"))
    lines = [f"# root_causes on planted months: {asked.jobs} jobs each, seeds {' '.join(map(str, asked.seeds))}", ""]
    lines += ["| effect | planted | found | missed | found beside | recall | precision |", "|---|---|---|---|---|---|---|"]
    failed = []
    for name in sorted(name for name in counts if name.startswith("effect")):
        true, false, missed = scores(counts[name])
        recall, precision = share(true, true + missed), share(true, true + false + beside)
        lines.append(f"| {name.removeprefix('effect ')} | {true + missed} | {true} | {missed} | {false} | {recall} | {precision} |")
        if name == "effect 5" and (true < 0.99 * (true + missed) or true < 0.99 * (true + false + beside)):
            failed.append("precision or recall at effect 5 is below 0.99")
    if not counts["effect 5"]:
        failed.append("nothing was planted at effect 5")
    lines += ["", f"Findings in {sum(sum(group.values()) for name, group in counts.items() if not name.startswith('effect'))} healthy logs and decoys: {beside}; they count against every precision above."]
    lines += [f"Clean months: {clean['findings']} findings in {clean['logs']} logs."]
    if clean["findings"] or not clean["logs"]:
        failed.append("a clean month has findings, or no logs")
    lines += matrix(counts) + [""] + [f"- {line}" for line in odd[:40]]
    text = "\n".join(lines).rstrip() + "\n"
    print(text, end="")
    if asked.out:
        asked.out.write_text(text)
    for why in failed:
        print(f"failed: {why}", file=sys.stderr)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
