# `millrace bench nvme` and fio on the same file systems, request size and depth, in turns; prints JSON.
# usage: compare_fio.py MILLRACE DIR [DIR ...] [--bytes N] [--seconds S] [--rounds R] [--io auto|uring|threads]
import argparse
import json
import os
import statistics
import subprocess
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("millrace")
parser.add_argument("directories", nargs="+")
parser.add_argument("--bytes", type=int, default=4 << 30)
parser.add_argument("--seconds", type=float, default=5)
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--io", default="auto")
options = parser.parse_args()


def ours():
    command = [options.millrace, "bench", "nvme", "--json", "--bytes", str(options.bytes), "--seconds", str(options.seconds), "--io", options.io]
    for directory in options.directories:
        command += ["--dir", directory]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def fio(folders, report, mode):
    """Bytes per second of both ways together, by the same means as the report's: over files that are laid down."""
    uring = report["io"].startswith("io_uring")
    workers = 1 if uring else int(report["io"].split()[0]) // len(folders)
    each = report["bytes"] // len(folders) // workers // report["request_bytes"] * report["request_bytes"]
    command = ["fio", "--output-format=json", "--group_reporting", "--overwrite=1", "--bs=%d" % report["request_bytes"],
               "--time_based", "--runtime=%g" % options.seconds, "--iomem_align=2M",
               "--direct=%d" % ("past the system's cache" in report["io"]), "--rw=" + mode, "--numjobs=%d" % workers, "--size=%d" % each]
    if uring:
        command += ["--ioengine=io_uring", "--registerfiles=1", "--iodepth=%d" % max(1, report["depth"] // len(folders))]
        command += ["--fixedbufs=1"] if "registered buffers" in report["io"] else []
    else:
        command += ["--ioengine=psync", "--fallocate=posix"]
    for number, folder in enumerate(folders):
        command += ["--name=drive%d" % number, "--directory=" + folder]
    # Buffers of huge pages, as ours are: a request is then one piece of memory, where pages of 4 KiB halve the rate.
    huge = dict(os.environ, GLIBC_TUNABLES="glibc.malloc.hugetlb=1")
    jobs = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=huge).stdout)["jobs"]
    return sum(job[way]["bw_bytes"] for job in jobs for way in ("read", "write"))


rounds = []
with tempfile.TemporaryDirectory(dir=options.directories[0]) as first:
    others = [tempfile.TemporaryDirectory(dir=directory) for directory in options.directories[1:]]
    folders = [first] + [folder.name for folder in others]
    for _ in range(options.rounds):
        report = ours()
        peer = {mode: fio(folders, report, rw) for mode, rw in (("write", "write"), ("read", "read"), ("mixed", "rw"))}
        mine = {"write": report["write_bytes_per_second"], "read": report["read_bytes_per_second"],
                "mixed": report["mixed_bytes_per_second"], "pipeline": report["pipeline"]["bytes_per_second"]}
        rounds.append((mine, peer))
    for folder in others:
        folder.cleanup()


def median(pick):
    return statistics.median(pick(mine, peer) for mine, peer in rounds)


version = subprocess.run(["fio", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
print(json.dumps({
    "command": "compare_fio.py millrace %s --bytes %d --seconds %g --rounds %d --io %s" % (
        " ".join("DIR%d" % n for n in range(len(options.directories))), options.bytes, options.seconds, options.rounds, options.io),
    "machine": report["machine"], "io": report["io"], "fio": version, "request_bytes": report["request_bytes"], "depth": report["depth"],
    "millrace_gb_per_second": {part: round(median(lambda mine, peer: mine[part]) / 1e9, 3) for part in mine},
    "fio_gb_per_second": {part: round(median(lambda mine, peer: peer[part]) / 1e9, 3) for part in peer},
    "share_of_fio": {part: round(median(lambda mine, peer: mine[part] / peer[part if part in peer else "mixed"]), 3) for part in mine},
    "rounds": [{"millrace": {k: round(v / 1e9, 3) for k, v in mine.items()}, "fio": {k: round(v / 1e9, 3) for k, v in peer.items()}}
               for mine, peer in rounds],
}, indent=2))
