"""The lines of `iolode inspect --darshan-parser` against pydarshan 3.5.0: compare_text.py LOGS TEXTS.

TEXTS holds a file <name>.txt for each log <name> below LOGS. Only POSIX before version 4 may differ, in the counters that
libdarshan loses on the way (source/darshan/FORMAT.md 12.1 to 12.3).
"""

import collections
import glob
import os
import sys

from darshan.backend import cffi_backend as lib

# DXT has no lines, APMPI, APXC, BG/Q and HEATMAP cannot be compared through pydarshan record by record.
MODULES = ["POSIX", "MPI-IO", "STDIO", "H5F", "H5D", "PNETCDF_FILE", "PNETCDF_VAR", "LUSTRE"]
LOST = {"POSIX_F_" + name for name in
        "META_TIME MAX_READ_TIME MAX_WRITE_TIME FASTEST_RANK_TIME SLOWEST_RANK_TIME VARIANCE_RANK_TIME VARIANCE_RANK_BYTES".split()}


def lines(path):
    """Value by module, rank, record id and counter; the versions of the modules."""
    values, versions = {}, {}
    with open(path, errors="replace") as text:
        for line in text:
            if " bytes (compressed), ver=" in line:
                versions[line[2:].split(" module")[0]] = int(line.rsplit("=", 1)[1])
            elif line.strip() and not line.startswith("#"):
                module, rank, record, counter, value, *_ = line.split("\t")
                values[module, int(rank), int(record), counter] = value
    return values, versions


def records(log, module):
    """Rank, record id, counter and value as text, of every record."""
    read = lib._log_get_lustre_record if module == "LUSTRE" else lambda log, **how: lib.log_get_generic_record(log, module, **how)
    while (record := read(log, dtype="dict")) is not None:
        rank, ident = record["rank"], record["id"]
        if module == "LUSTRE":
            for number, component in enumerate(record["components"], 1):
                for at, ost in enumerate(component["ost_ids"]):
                    yield rank, ident, f"LUSTRE_COMP{number}_OST_ID_{at}", str(ost)
            continue
        for counter, value in record["counters"].items():
            yield rank, ident, counter, str(int(value))
        for counter, value in record["fcounters"].items():
            yield rank, ident, counter, f"{value:f}"


def main(logs, texts):
    compared, wrong, lost = 0, [], collections.Counter()
    paths = sorted(glob.glob(f"{logs}/*.darshan"))
    for path in paths:
        name = os.path.basename(path)
        values, versions = lines(f"{texts}/{name}.txt")
        log = lib.log_open(path)
        for module in MODULES:
            if module not in lib.log_get_modules(log):
                continue
            for rank, ident, counter, value in records(log, module):
                compared += 1
                found = values.get((module, rank, ident, counter))
                if found == value:
                    continue
                if module == "POSIX" and versions["POSIX"] < 4 and counter in LOST:
                    lost[counter] += 1
                else:
                    wrong.append(f"{name}: {module} {rank} {ident} {counter}: {found} instead of {value}")
        lib.log_close(log)
    print(f"{len(paths)} logs, {compared} values, {sum(lost.values())} that libdarshan loses, {len(wrong)} wrong")
    print("\n".join(wrong[:20]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
