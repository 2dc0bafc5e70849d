#!/usr/bin/env python3
"""Independent reference of the root-cause verdicts: what stands out in a Darshan log, worked out from pydarshan's records.

    verdicts.py DATA [LOG ...]   prints every log (or those given, relative to DATA) with the numbers of each cause

The verdicts written by hand stand in verdicts.toml, check_verdicts.py compares them with this. DATA is the folder that
holds darshan/ and linked/darshan_logs/. This shares no code with the program and was written before the program had seen
these logs. It is made to be read: a file is one dictionary, a cause is a few lines.

Readings chosen where the rules leave a choice:
 1. A process accesses a file when it moved bytes of it in the direction; a shared record counts for all processes.
 2. Processes on one OST are summed over files, as written; `ranks` beside it counts each process once.
 3. Alone (serial_files): the union of the overlaps with all other files is at most 5 % of the file's own interval.
    If the longest file that is alone exceeds 20 % of their sum, the cause does not hold: none is taken out to save it.
 4. one_rank: the process with the most bytes in its own records; "alone accesses" = no other process has a record.
 5. A file lies on the OSTs of the stripes in [0, highest byte read or written]; no POSIX record: all its stripes.
 6. one_file: what the union of the intervals loses without a file is the part of its interval that no other one covers.
 7. A cause that holds by both kinds of interval, but for another file or OST, holds by each kind alone.
 8. one_ost: the OST with most time is sought among those with enough processes. serial_files and small_requests are
    about many files and have no subject that must be the same.
 9. small_requests: the 1,000 small requests are summed over its files, with exclusive time or without.
"""
import glob, os, sys
import darshan
import pandas

STREAMS = {14734109647742566553, 15920181672442173319, 7238257241479193519}  # stdin, stdout, stderr
MIN_TIME, SLOW_BW, MIN_SMALL = 1.0, 1e9, 1000
CALLS = {'POSIX': ['POSIX_{0}S'], 'STDIO': ['STDIO_{0}S'],
         'MPI-IO': ['MPIIO_INDEP_{0}S', 'MPIIO_COLL_{0}S', 'MPIIO_SPLIT_{0}S', 'MPIIO_NB_{0}S']}
DONE = {'read': 'READ', 'write': 'WRITTEN'}


def records(report, module):
    """The records of one module, integers and doubles side by side, as a list of dictionaries."""
    if module in report.modules:
        report.mod_read_all_records(module)
    if module not in report.modules or not len(report.records[module]):
        return []
    frames = report.records[module].to_df()
    both = pandas.concat([frames['counters'], frames['fcounters'].drop(columns=['id', 'rank'])], axis=1)
    return both.to_dict('records')


def one(record, module, direction):
    """What one record says of one direction."""
    p, d = module.replace('-', ''), direction.upper()
    busy = time = max(0.0, record[f'{p}_F_{d}_TIME'])
    if record['rank'] == -1:
        known = sum(max(0.0, record[f'{p}_F_{kind}_TIME']) for kind in ('READ', 'WRITE', 'META'))
        busy = record[f'{p}_F_SLOWEST_RANK_TIME'] * time / known if known > 0 else 0.0
    return {'rank': int(record['rank']), 'busy': busy,
            'start': record[f'{p}_F_{d}_START_TIMESTAMP'], 'end': record[f'{p}_F_{d}_END_TIMESTAMP'],
            'bytes': max(0, int(record[f'{p}_BYTES_{DONE[direction]}'])),
            'calls': sum(max(0, int(record[c.format(d)])) for c in CALLS[module])}


def ranks(rows, nprocs):
    found = {row['rank'] for row in rows}
    return set(range(nprocs)) if -1 in found else found


def osts_of(layout, highest):
    """The OSTs that hold the bytes up to `highest` (exclusive; None: unknown, so all of the layout)."""
    used = set()
    for start, end, size, targets in layout:
        if highest is None:
            used.update(targets)
        elif highest > start:
            within = (min(highest, end) if end > 0 else highest) - start
            used.update(targets[:-(-within // size)])
    return used


def files_of(report, direction):
    """The files of one direction: one source each (SEMANTICS.md 1), streams and idle files left out."""
    nprocs = report.metadata['job']['nprocs']
    by_id = {}
    for module in ('POSIX', 'STDIO', 'MPI-IO'):
        for record in report.all_records[module]:
            by_id.setdefault(int(record['id']), {}).setdefault(module, []).append(record)
    partial = 'POSIX' in report.modules and report.modules['POSIX']['partial_flag']
    out = []
    for rid, have in by_id.items():
        if rid in STREAMS:
            continue
        rows = {m: [one(r, m, direction) for r in rs] for m, rs in have.items()}
        both = {m: rows[m] + [one(r, m, 'read' if direction == 'write' else 'write') for r in have[m]] for m in have}
        low = ['POSIX', 'STDIO']
        total = lambda modules, what: sum(row[what] for m in modules for row in both.get(m, []))
        procs = lambda modules: len(ranks([row for m in modules for row in rows.get(m, [])], nprocs))
        fewer = procs(low) < procs(['MPI-IO']) and total(low, 'bytes') < total(['MPI-IO'], 'bytes')
        use = ['MPI-IO'] if 'MPI-IO' in have and (total(low, 'calls') == 0 or (partial and fewer)) else low
        mine = [row for m in use for row in rows.get(m, [])]
        if sum(row['bytes'] for row in mine) == 0:
            continue
        starts, ends = [r['start'] for r in mine if r['start'] > 0], [r['end'] for r in mine if r['end'] > 0]
        window = (min(starts), max(ends)) if starts and ends else None
        stops = [r['start'] + r['busy'] for r in mine if r['start'] > 0]
        busy = (window[0], min(window[1], max(stops))) if window else None
        d, posix = direction.upper(), have.get('POSIX', []) if use == low else []
        add = lambda *names: sum(max(0, int(r[n])) for r in posix for n in names)
        calls, small = add(f'POSIX_{d}S'), add(f'POSIX_SIZE_{d}_0_100', f'POSIX_SIZE_{d}_100_1K')
        highest = max((int(r[f'{m}_MAX_BYTE_{w}']) + 1 for m in low for r in have.get(m, [])
                       for w in DONE.values() if r[f'{m}_BYTES_{w}'] > 0), default=None)
        out.append({'id': rid, 'name': report.name_records.get(rid, '?'), 'bytes': sum(r['bytes'] for r in mine),
                    'window': window, 'busy': busy, 'source': '+'.join(m for m in use if m in have), 'rows': mine,
                    'ranks': ranks([r for r in mine if r['bytes']], nprocs), 'openers': ranks(mine, nprocs),
                    'small_calls': small, 'small': small / calls if calls else None,
                    'jumps': 1 - add(f'POSIX_CONSEC_{d}S') / calls if calls else None,
                    'osts': osts_of(report.layouts.get(rid, []), highest)})
    return out


def sweep(files, kind):
    """Seconds of exclusive time per file id: the fewest intervals that cover all, each from where the last one ended."""
    todo = sorted((f for f in files if f[kind] and f[kind][1] > f[kind][0]), key=lambda f: (f[kind][0], -f[kind][1]))
    share, at, i = {}, float('-inf'), 0
    while True:
        best = None
        while i < len(todo) and todo[i][kind][0] <= at:  # reaches into what is covered: take the one that ends last
            if best is None or todo[i][kind][1] > best[kind][1]:
                best = todo[i]
            i += 1
        if best is None or best[kind][1] <= at:          # nothing goes on here: jump to the next start
            if i == len(todo):
                return share
            at = todo[i][kind][0]
            continue
        share[best['id']] = best[kind][1] - at
        at = best[kind][1]


def overlap(mine, others):
    """Length of `mine` that others cover."""
    covered, at = 0.0, mine[0]
    for start, end in sorted(others):
        start, end = max(start, at), min(end, mine[1])
        if end > start:
            covered, at = covered + end - start, end
    return covered


def causes(files, nprocs, kind):
    """With this kind of interval: per cause (holds, subject, numbers), the seconds per file, and their sum."""
    seconds = sweep(files, kind)
    critical = sum(seconds.values())
    if not critical:
        return {}, seconds, 0.0
    out, single, own = {}, {}, {}
    time_of = lambda members: sum(seconds.get(f['id'], 0) for f in members)

    def judge(name, members, holds, note, subject=None, least=0.5):
        time = time_of(members)
        bw = sum(f['bytes'] for f in members) / time if time else float('inf')
        yes = bool(holds and time / critical >= least and bw < SLOW_BW)
        out[name] = yes, subject, f'share {time / critical:.3f} bw {bw / 1e6:.1f} MB/s {note}'

    for f in files:
        if len(f['osts']) == 1:
            single.setdefault(next(iter(f['osts'])), []).append(f)
    if single:
        procs = {ost: sum(len(f['ranks']) for f in members) for ost, members in single.items()}
        crowded = [ost for ost in single if procs[ost] >= 16 and procs[ost] >= nprocs / 2]
        top = max(crowded or single, key=lambda ost: time_of(single[ost]))
        shown = crowded or [top]  # none is crowded: the numbers are those of the OST with most time
        members = [f for ost in shown for f in single[ost]]
        who = set().union(*(f['ranks'] for f in members))
        each = ', '.join(f'OST {ost[1]} share {time_of(single[ost]) / critical:.3f} procs {procs[ost]}' for ost in shown)
        judge('one_ost', members, crowded, f'{each}; files {len(members)} ranks {len(who)} of {nprocs}', subject=top)
    for f in files:
        for row in f['rows']:
            if row['rank'] >= 0:
                own[row['rank']] = own.get(row['rank'], 0) + row['bytes']
    if own:
        top = max(own, key=own.get)
        times = own[top] * nprocs / sum(f['bytes'] for f in files)
        members = [f for f in files if f['openers'] == {top}]
        judge('one_rank', members, times >= 10, f'rank {top} x{times:.1f} files {len(members)}', subject=top)
    spans = {f['id']: f[kind] for f in files if f[kind] and f[kind][1] > f[kind][0]}
    length = {rid: end - start for rid, (start, end) in spans.items()}
    covered = {rid: overlap(span, [s for i, s in spans.items() if i != rid]) for rid, span in spans.items()}
    alone = [f for f in files if f['id'] in spans and covered[f['id']] <= 0.05 * length[f['id']]]
    if alone:
        lengths = [length[f['id']] for f in alone]
        longest = max(lengths) / sum(lengths)
        judge('serial_files', alone, len(alone) >= 20 and longest <= 0.2, f'alone {len(alone)} longest {longest:.2f}')
    first = max(files, key=lambda f: seconds.get(f['id'], 0))
    saved = (length[first['id']] - covered[first['id']]) / critical
    judge('one_file', [first], len(files) >= 10 and saved >= 0.5, f'of {len(files)} files, without it {saved:.3f} less',
          subject=first['id'], least=0.9)
    tiny = [f for f in files if f['small'] is not None and f['small'] >= 0.5 and f['jumps'] >= 0.5]
    requests = sum(f['small_calls'] for f in tiny)
    judge('small_requests', tiny, requests >= MIN_SMALL, f'files {len(tiny)} small requests {requests}')
    return out, seconds, critical


def load(path):
    """A report with the records, and per file the components of its layout: [(start, end, size, [(mount, OST)])]."""
    report = darshan.DarshanReport(path, read_all=False)
    report.all_records = {module: records(report, module) for module in CALLS}
    report.layouts = {}
    if 'LUSTRE' in report.modules:
        report.mod_read_all_lustre_records()
        mounts = sorted((mount[0] for mount in report.mounts), key=len, reverse=True)
        for record in report.records['LUSTRE']:
            name = report.name_records.get(int(record['id']), '')
            mount = next((m for m in mounts if name.startswith(m)), '')
            for component in record['components']:
                size, _, _, _, start, end, _ = (int(c) for c in component['counters'])
                targets = [(mount, int(ost)) for ost in component['ost_ids'] if ost >= 0]
                if targets:
                    report.layouts.setdefault(int(record['id']), []).append((max(0, start), end, max(1, size), targets))
    return report


def verdict(report, direction):
    """All of one examination: files, and per kind of interval the causes, the seconds per file and their sum."""
    nprocs, files = report.metadata['job']['nprocs'], files_of(report, direction)
    both = {kind: causes(files, nprocs, kind) for kind in ('window', 'busy')}
    holds = {kind: set() for kind in both}
    if both['window'][2] >= MIN_TIME and nprocs >= 2:
        for kind, least in (('window', MIN_TIME), ('busy', MIN_TIME / 10)):
            if both[kind][2] >= least:
                holds[kind] = {(name, subject) for name, (yes, subject, _) in both[kind][0].items() if yes}
    names = lambda found: sorted(name for name, _ in found)
    return {'nprocs': nprocs, 'files': files, 'both': both, 'found': names(holds['window'] & holds['busy']),
            'window_only': names(holds['window'] - holds['busy']), 'busy_only': names(holds['busy'] - holds['window'])}


def show(path, direction, v):
    print(f'\n{path} {direction}: nprocs {v["nprocs"]} files {len(v["files"])} bytes {sum(f["bytes"] for f in v["files"])}')
    by_id = {f['id']: f for f in v['files']}
    for kind, (found, seconds, critical) in v['both'].items():
        print(f'  {kind}: critical {critical:.4f} s over {len(seconds)} files')
        for rid, time in sorted(seconds.items(), key=lambda s: -s[1])[:4]:
            f = by_id[rid]
            print(f'    {time / critical:.4f} {time:.4f} s [{f[kind][0]:.3f} {f[kind][1]:.3f}] {f["name"]} bytes {f["bytes"]} {f["source"]} '
                  f'ranks {len(f["ranks"])} osts {len(f["osts"])} small {f["small"]} jumps {f["jumps"]}')
        for name, (yes, _, note) in found.items():
            print(f'    {"YES" if yes else "no "} {name}: {note}')
    print(f'  verdict {v["found"]}, by window alone {v["window_only"]}, by busy alone {v["busy_only"]}')


def main():
    data = sys.argv[1]
    paths = sys.argv[2:] or sorted(os.path.relpath(path, data) for folder in ('darshan', 'linked/darshan_logs')
                                   for path in glob.glob(os.path.join(data, folder, '*.darshan')))
    for path in paths:
        report = load(os.path.join(data, path))
        for direction in DONE:
            show(path, direction, verdict(report, direction))


if __name__ == '__main__':
    main()
