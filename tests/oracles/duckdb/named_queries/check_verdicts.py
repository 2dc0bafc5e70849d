#!/usr/bin/env python3
"""Compares the verdicts written by hand in verdicts.toml with what verdicts.py works out: check_verdicts.py DATA"""
import os, sys, tomllib
import verdicts


def check_job(data, want):
    """The logs of one job on one clock: bytes of all files, and the union of their windows of both directions."""
    spans, moved, earliest = [], dict.fromkeys(verdicts.DONE, 0), None
    for path in want['logs']:
        report = verdicts.load(os.path.join(data, path))
        job = report.metadata['job']
        earliest = earliest or job['start_time_sec']  # whole seconds, so that no nanoseconds are lost in a double
        start = job['start_time_sec'] - earliest + job['start_time_nsec'] / 1e9
        for direction in verdicts.DONE:
            for f in verdicts.files_of(report, direction):
                moved[direction] += f['bytes']
                spans.append((start + f['window'][0], start + f['window'][1]))
    union = verdicts.overlap((min(s for s, _ in spans), max(e for _, e in spans)), spans)
    got = {'bytes_read': moved['read'], 'bytes_written': moved['write'], 'io_seconds': round(union, 6)}
    return [f'{name} {value}' for name, value in got.items() if abs(want[name] - value) > 1e-6]


def check_log(want, v):
    """One examination: the file with most time by either kind of interval, its share by window, and the causes."""
    names, top = {f['id']: f['name'] for f in v['files']}, {}
    for kind, (_, seconds, _) in v['both'].items():
        top[kind] = max(seconds, key=seconds.get, default=None)
    got = {'critical': names.get(top['window']), 'causes': v['found'],
           'critical_busy': names.get(top['busy']) if top['busy'] != top['window'] else None,
           'window_only': v['window_only'] or None, 'busy_only': v['busy_only'] or None}
    problems = [f'{key} {value}' for key, value in got.items() if want.get(key) != value]
    _, seconds, critical = v['both']['window']
    if critical and abs(want['share'] - seconds[top['window']] / critical) > 0.0051:
        problems.append(f'share {seconds[top["window"]] / critical:.4f}')
    return problems


def check(data, toml):
    """Compares what was written by hand with what comes out here; prints the differences and returns their number."""
    with open(toml, 'rb') as file:
        wanted = tomllib.load(file)
    different, path = 0, None
    for want in wanted['log'] + [wanted['job_44']]:
        if 'logs' in want:
            problems = check_job(data, want)
        else:
            if want['path'] != path:
                path, report = want['path'], verdicts.load(os.path.join(data, want['path']))
            v = verdicts.verdict(report, want['direction'])
            problems = check_log(want, v)
        if problems:
            different += 1
            print(want.get('path', 'job 44'), want.get('direction', ''), '; '.join(problems))
    print(f'{len(wanted["log"])} verdicts and a job, {different} differ')
    return different


if __name__ == '__main__':
    sys.exit(1 if check(sys.argv[1], os.path.join(os.path.dirname(os.path.abspath(__file__)), 'verdicts.toml')) else 0)
