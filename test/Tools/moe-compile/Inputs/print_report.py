"""FILE: the groups and windows of a report. FILE schedules: why they have no times. FILE bytes TOKENS..: bytes of all windows if each rank has so many
tokens. FILE rows TOKENS..: bytes of the rows' window, and COMET's figure."""

import json
import sys


def evaluate(quantity, tokens):
    # Quotients are rounded down.
    return eval(quantity["expression"].replace("/", "//"), {"tokens": tokens})


def main():
    report, words = json.load(open(sys.argv[1])), sys.argv[2:]
    if not words:
        for group in report["groups"]:
            print(f"{group['entry']}: {group['phase'].split(': ')[1]}: " + ", ".join(f"{m['kernel']} {m['blocks']} x {m['phases']}" for m in group["members"]))
        for buffer in report["buffers"]:
            print(f"{buffer['entry']} on {buffer['grid']}: " + ", ".join(f"{w['name']} {w['type']}" for w in buffer["windows"]))
    elif words[0] == "schedules":
        for layer in report["schedules"]:
            print(f"{layer['name']}: {layer['not_simulated']}")
    elif words[0] == "bytes":
        for buffer in report["buffers"]:
            print(f"{buffer['grid']}: " + ", ".join(str(evaluate(buffer["bytes"], int(tokens))) for tokens in words[1:]))
    else:
        [buffer] = report["buffers"]
        [rows] = [window for window in buffer["windows"] if window["name"] == words[0]]
        figures = [", ".join(f"{evaluate(each, int(tokens)) / 2**20:g} MB" for tokens in words[1:]) for each in (rows["bytes"], buffer["comet_bytes"])]
        print(f"rows: {figures[0]}; COMET: {figures[1]}")


if __name__ == "__main__":
    main()
