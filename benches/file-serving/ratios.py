#!/usr/bin/env python3
"""Medians of the lines of versus.sh, and ratios of Assay to libnfs with their range over the rounds."""
import os
import statistics
import sys

seen, order = {}, []
for line in open(sys.argv[1]):
    word = line.split()
    if len(word) < 8 or word[0] not in ("assay", "libnfs"):
        continue
    assert word[-1] == "0", "a wrong answer: " + line
    key = (word[1], int(word[2]), int(word[3]))
    if key not in order:
        order.append(key)
    seen.setdefault(key, {}).setdefault(word[0], []).append([float(figure) for figure in word[4:7]])


def ratio(one, two):
    each = [a / b for a, b in zip(one, two)]
    return f"{statistics.median(each):.2f} ({min(each):.2f} to {max(each):.2f})"


def column(sides, side, at):
    return [row[at] for row in sides[side]]


HEADS = ["calls", "depth", "connections", "calls/s ours, libnfs", "client us/call ours, libnfs", "rate, ratio",
         "client CPU, ratio"]
print("| " + " | ".join(HEADS) + " |")
print("|" + " --- |" * len(HEADS))
for key in order:
    sides = seen[key]
    cells = []
    for at, form in ((0, ".0f"), (1, ".2f")):
        medians = [statistics.median(column(sides, side, at)) for side in ("assay", "libnfs")]
        cells.append(", ".join(format(median, form) for median in medians))
    for at in (0, 1):
        cells.append(ratio(column(sides, "assay", at), column(sides, "libnfs", at)))
    print("| " + " | ".join([key[0], str(key[1]), str(key[2])] + cells) + " |")


def busy(rows):
    """Share of all processors that client and server take."""
    return statistics.median(rate * (client + server) for rate, client, server in rows) / 1e6 / os.cpu_count()


fours = [name for name, depth, count in order if (depth, count) == (32, 4) and (name, 32, 1) in seen]
if fours:
    print("\n| calls at depth 32 | whose | calls/s, four connections and one | ratio | processors taken |")
    print("| --- | --- | --- | --- | --- |")
for name in fours:
    for side in ("assay", "libnfs"):
        four, one = (seen[name, 32, count][side] for count in (4, 1))
        rates = [[row[0] for row in rows] for rows in (four, one)]
        medians = ", ".join(f"{statistics.median(rate):.0f}" for rate in rates)
        shares = ", ".join(f"{busy(rows):.0%}" for rows in (four, one))
        print(f"| {name} | {side} | {medians} | {ratio(*rates)} | {shares} |")
