#!/usr/bin/env python3
"""Runs each command of README.md and GUIDE.md that shows what it prints, and says which of the printed lines are not there today.

  docs_as_printed.py BINARY [DIRECTORY]

The commands ask the demo, which is made first in an empty temporary directory, or lies in DIRECTORY as `iolode-demo` already. Times that
commands took differ from run to run; lines of `..` stand for what was left out. Commands about clusters, timers, months to synthesise and paths
that no machine has are not run. Exits with 1 if a line differs.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOT_RUN = (
    *("cluster", "/scratch", "/darshan", "timer", "synth", "demo --", "iolode demo"),
    "owners.csv", "classify_workload",  # A file and a function that the reader makes.
    "--lake shared",  # Pseudonyms by a key that is drawn anew.
    "> logs.txt",  # What follows is Python.
    "--keep",  # Pages of other weeks lie there already.
)
TIME = re.compile(r"\b\d+(\.\d+)? (s|ms)\b")


def blocks(text):
    """The line, the command and the lines that it printed, of each command of a page."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        found = re.match(r"^(\s+)\$ (.*)", lines[at])
        first, at = at + 1, at + 1
        if not found:
            continue
        indent, command = found.groups()
        while at < len(lines) and (command.count('"') % 2 == 1 or command.endswith("\\")):
            command += "\n" + lines[at][len(indent):]
            at += 1
        printed = []
        while at < len(lines) and not re.match(r"^\s+\$ ", lines[at]):
            is_gap = lines[at] == "" and at + 1 < len(lines) and lines[at + 1].startswith(indent)
            if not lines[at].startswith(indent) and not is_gap:
                break
            printed.append(lines[at][len(indent):])
            at += 1
        yield first, command, printed


def plain(text):
    return [TIME.sub("TIME", line.rstrip()) for line in text.split("\n") if line.strip()]


def check(page, line, command, printed, where, environment):
    """Whether all that the page shows is printed."""
    try:
        run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=where, env=environment, timeout=120)
    except subprocess.TimeoutExpired:
        print(f"{page}:{line}: no end after 120 s: {command}")
        return False
    said = {*plain(run.stdout), *plain(run.stderr)}
    missing = [shown for shown in plain("\n".join(printed)) if shown not in said and shown.strip() not in ("..", "...")]
    if missing:
        print(f"{page}:{line}: {command}\n  {len(missing)} lines are printed otherwise:")
        print("\n".join(f"    {shown}" for shown in missing[:5]))
    return not missing


def main():
    binary = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as temporary:
        (Path(temporary) / "bin").mkdir()
        (Path(temporary) / "bin" / "iolode").symlink_to(binary)
        environment = {**os.environ, "PATH": f"{temporary}/bin:{os.environ['PATH']}", "COLUMNS": "140"}
        where = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(temporary)
        if not (where / "iolode-demo").is_dir():
            subprocess.run(["iolode", "demo"], cwd=where, env=environment, check=True, capture_output=True)
        run, differing = 0, 0
        for page in ("README.md", "GUIDE.md"):
            for line, command, printed in blocks((ROOT / page).read_text()):
                if "iolode" not in command or not printed or any(word in command for word in NOT_RUN):
                    continue
                run += 1
                differing += not check(page, line, command, printed, where, environment)
    print(f"{run} commands, {differing} of them with lines that are printed otherwise")
    return differing > 0


if __name__ == "__main__":
    sys.exit(main())
