#!/usr/bin/env python3
"""Our client of plain files beside fio's engines that make, look at and remove files, in turn.

local.py DIRECTORY [ROUNDS] [SECONDS]; Debian: fio. Build first: cargo build --release -p files --example calls
One thread each. Use tmpfs: ext4 avoids inodes that were just freed. filebench and fs_mark are not in Debian: these engines of fio do what fs_mark does.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(HERE, "../../target"))
# So many that fio's clock, in milliseconds, is not too coarse.
FILES = {"filestat": 20000, "filecreate": 2000, "filedelete": 2000}


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


def main():
    directory, rounds, seconds = (sys.argv[1:] + ["5", "1"][len(sys.argv) - 2:])[:3]
    theirs = {"getattr": lambda: fio(directory, "filestat"), "names": lambda: names(directory)}
    print("| calls | calls/s ours, fio | us/call ours, fio | rate, ratio | CPU, ratio |\n|" + " --- |" * 5)
    for calls, other in theirs.items():
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
