#!/usr/bin/env python3
"""Runs `assay quick` several times in fresh directories and says how often it decided. See README.md."""

import argparse
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time

DECIDED = ("better", "worse", "equivalent")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("assay", help="the binary")
    parser.add_argument("--runs", type=int, default=10, help="how many (default: 10)")
    parser.add_argument("--user", help="run as this user instead of root")
    parser.add_argument("--busy", action="store_true", help="beside a program that takes half a processor")
    parser.add_argument("--dir", default="/var/tmp", help="where the directories are made (default: /var/tmp)")
    parser.add_argument("--truth", help="a result file of the same study, run for an hour: what contradicts it is counted")
    return parser.parse_args()


def keep_busy():
    """Half a processor, until it is killed."""
    while True:
        until = time.monotonic() + 0.05
        while time.monotonic() < until:
            pass
        time.sleep(0.05)


def busy_process():
    return subprocess.Popen([sys.executable, __file__, "keep-busy"], stdout=subprocess.DEVNULL)


def as_user(name):
    """What a child does before it becomes the program."""
    if name is None:
        return {}
    entry = pwd.getpwnam(name)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def quick(options, place):
    """One run: seconds, exit code, and its report (`None` where there is none)."""
    began = time.monotonic()
    child = subprocess.run(
        [options.binary, "quick", "--json"],
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HOME": place},
        **as_user(options.user),
    )
    seconds = time.monotonic() - began
    try:
        return seconds, child.returncode, json.loads(child.stdout)["report"], child.stderr
    except (ValueError, KeyError):
        return seconds, child.returncode, None, child.stderr


def shown(one):
    return f"{one['stack']} in {one['phase']} {one['ratio']:.2f} ({one['low']:.2f} to {one['high']:.2f}) {one['verdict']}"


def truths(options):
    """Interval of each comparison of the long run, by phase and stack."""
    if options.truth is None:
        return {}
    text = subprocess.run([options.binary, "report", "--json", options.truth], capture_output=True, text=True, check=True).stdout
    return {(one["phase"], one["stack"], one["base"]): one for one in json.loads(text)["report"]["comparisons"]}


def contradicts(one, long):
    """Whether a decided comparison and the interval of the long run exclude each other."""
    if long is None or one["verdict"] not in DECIDED:
        return False
    return one["high"] < long["low"] or one["low"] > long["high"]


def main():
    if sys.argv[1:] == ["keep-busy"]:
        keep_busy()
    options = arguments()
    options.binary = os.path.abspath(options.assay)
    truth = truths(options)
    rows, decided, compared, against, times = [], 0, 0, [], []
    print("| run | seconds | exit | blocks | decided | comparisons |\n| --- | --- | --- | --- | --- | --- |")
    for nth in range(1, options.runs + 1):
        place = tempfile.mkdtemp(prefix="assay-quick-", dir=options.dir)
        if options.user is not None:
            os.chown(place, *[as_user(options.user)[key] for key in ("user", "group")])
        busy = busy_process() if options.busy else None
        try:
            seconds, code, report, said = quick(options, place)
            left = sorted(os.listdir(place))
        finally:
            if busy is not None:
                busy.kill()
                busy.wait()
            shutil.rmtree(place)
        times.append(seconds)
        if left:
            against.append(f"run {nth} left {left}")
        if report is None:
            print(f"| {nth} | {seconds:.0f} | {code} | | | no report: {said.strip().splitlines()[-1:]} |", flush=True)
            continue
        ones = report["comparisons"]
        good = [one for one in ones if one["verdict"] in DECIDED]
        decided, compared = decided + len(good), compared + len(ones)
        key = lambda one: (one["phase"], one["stack"], one["base"])
        against += [f"run {nth}: {shown(one)}" for one in ones if contradicts(one, truth.get(key(one)))]
        blocks = report["study"]["blocks_valid"]
        words = "; ".join(shown(one) for one in ones)
        print(f"| {nth} | {seconds:.0f} | {code} | {blocks} | {len(good)} of {len(ones)} | {words} |", flush=True)
        rows.append(ones)
    if compared:
        print(f"\n{decided} of {compared} comparisons decided ({100 * decided / compared:.0f} %).")
    print(f"Seconds: {min(times):.0f} to {max(times):.0f}.")
    for one in against:
        print(f"Against it: {one}")
    if truth and not against:
        print("No decided comparison contradicts the long run.")


if __name__ == "__main__":
    main()
