"""Three lakes of the same logs: `once/` taken in at once, `ten/` by ten ingests, `compacted/` a compacted copy of the latter."""

import glob
import os
import shutil
import subprocess

VARIANTS = ("once", "ten", "compacted")


def make(iolode, folder, size, seed):
    """Makes the lakes in a folder, of a synthetic month of so many jobs (`--jobs N`) or that scale (`--scale F`)."""
    folder = os.path.abspath(folder)
    os.makedirs(folder, exist_ok=True)
    month = os.path.join(folder, "month")
    run(iolode, "synth", *size, "--seed", str(seed), "--out", month)
    days = sorted(glob.glob(f"{month}/2*/*/*"), key=lambda path: [int(part) for part in path.split("/")[-3:]])
    slurm, lmt = (sorted(glob.glob(f"{month}/{kind}/*")) for kind in ("slurm", "lmt"))
    lakes = {name: os.path.join(folder, name) for name in VARIANTS}
    for name, parts in (("once", 1), ("ten", 10)):
        run(iolode, "lake", "create", lakes[name], "--site", f"{month}/site.toml")
        for part in range(parts):
            given = []
            for kind, inputs in (("--darshan", days), ("--slurm", slurm), ("--lmt", lmt)):
                if inputs[part::parts]:
                    given += [kind, *inputs[part::parts]]
            run(iolode, "ingest", "--lake", lakes[name], *given)
    shutil.copytree(lakes["ten"], lakes["compacted"])
    run(iolode, "lake", "compact", lakes["compacted"])
    shutil.rmtree(month)


def run(*command):
    """A month holds logs that cannot be read, which is exit code 1 of an ingest."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1) or (done.returncode and command[1] != "ingest"):
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
