#!/usr/bin/env python3
"""Our client of plain files beside fio's engines that make, look at and remove files, and beside fs_mark, in turn.

local.py DIRECTORY [ROUNDS] [SECONDS] [CALLS]; Debian: fio, fsmark. CALLS is all, or some of getattr,names,made,synced.
Build first: cargo build --release -p files --example calls
One thread each. Use tmpfs: ext4 avoids inodes that were just freed. filebench is not in Debian.
"""
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(HERE, "../../target"))
# So many that fio's clock, in milliseconds, is not too coarse.
FILES = {"filestat": 20000, "filecreate": 2000, "filedelete": 2000}
# As many as ours makes: 256 MiB of 4 KiB each.
MADE = 65536


def ours(directory, calls, seconds):
    """Calls a second and processor time of a call, us."""
    words = [TARGET + "/release/examples/calls", "local:" + directory, calls, "1", "1", str(seconds)]
    # Files of 4 KiB: fio makes as many.
    sizes = {"FILE_KIB": "4", "TRANSFER_KIB": "4"}
    said = subprocess.run(words, check=True, capture_output=True, text=True, env={**os.environ, **sizes})
    word = said.stdout.split()
    assert word[-1] == "0", "a wrong answer: " + said.stdout
    return float(word[4]), float(word[5])


def fio(directory, engine):
    """The same of one engine of fio."""
    # A name that nobody else can have made before.
    with tempfile.TemporaryDirectory(dir=directory) as place:
        words = ["fio", "--name=one", "--thread", "--ioengine=" + engine, "--directory=" + place,
                 f"--nrfiles={FILES[engine]}", "--openfiles=1", "--filesize=4k", "--bs=4k",
                 "--file_service_type=sequential", "--output-format=json"]
        said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    job = json.loads(said[said.index("{"):])["jobs"][0]
    took_us = job["job_runtime"] * 1e3
    return FILES[engine] / took_us * 1e6, (job["usr_cpu"] + job["sys_cpu"]) / 100 * took_us / FILES[engine]


def names(directory):
    """Files made and removed: each half of the calls."""
    sides = [fio(directory, engine) for engine in ("filecreate", "filedelete")]
    return 2 / sum(1 / rate for rate, _ in sides), sum(cpu for _, cpu in sides) / 2


def fs_mark(directory, sync):
    """Files a second that fs_mark makes and writes, and processor time of each, us. It keeps them, as ours does."""
    with tempfile.TemporaryDirectory(dir=directory) as place:
        words = ["fs_mark", "-d", place, "-l", place + "/log", "-k", "-t", "1", "-n", str(MADE),
                 "-s", "4096", "-w", "4096", "-S", sync]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # FSUse%, Count, Size, Files/sec, App Overhead.
    row = [line.split() for line in said.splitlines() if line and not line.startswith("#")][-1]
    assert int(row[1]) == MADE and int(row[2]) == 4096, said
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return float(row[3]), cpu_s * 1e6 / MADE


def main():
    directory, rounds, seconds, chosen = (sys.argv[1:] + ["5", "1", "all"][len(sys.argv) - 2:])[:4]
    theirs = {"getattr": lambda: fio(directory, "filestat"), "names": lambda: names(directory),
              "made": lambda: fs_mark(directory, "0"), "synced": lambda: fs_mark(directory, "1")}
    print("| calls | calls/s ours, theirs | us/call ours, theirs | rate, ratio | CPU, ratio |\n|" + " --- |" * 5)
    for calls, other in theirs.items():
        if chosen != "all" and calls not in chosen.split(","):
            continue
        seen = []
        for nth in range(int(rounds)):
            sides = [lambda: ours(directory, calls, seconds), other]
            if nth % 2:
                seen.append([side() for side in reversed(sides)][::-1])
            else:
                seen.append([side() for side in sides])
        cells = []
        for at, form in ((0, ".0f"), (1, ".2f")):
            cells.append(", ".join(format(statistics.median(pair[side][at] for pair in seen), form) for side in (0, 1)))
        for at in (0, 1):
            each = [a[at] / b[at] for a, b in seen]
            cells.append(f"{statistics.median(each):.2f} ({min(each):.2f} to {max(each):.2f})")
        print("| " + " | ".join([calls] + cells) + " |")


main()
