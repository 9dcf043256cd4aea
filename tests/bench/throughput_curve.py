#!/usr/bin/env python3
"""Tokens a second of a model over tokens a step and limits of device memory: data, and a chart of it.

    python3 tests/bench/throughput_curve.py measure build/dev/app/millrace DATA.json [--model PRESET] [--device cuda:N]
    python3 tests/bench/throughput_curve.py draw DATA.json CHART.svg

`measure` runs `millrace bench step` for every point, each in a process of its own, and writes what is there after each,
so that an interrupted measurement keeps its points; points that the file holds already are not measured again. Run
`millrace bench machine` before, so that bounds are of measured rates. `draw` makes the chart of the data alone.
"""
import argparse
import json
import math
import os
import subprocess
import sys

TOKENS = [4096, 16384, 65536, 262144]
LIMITS = ["12GiB", "24GiB", ""]
KEPT = ["tokens_per_step", "tokens_per_second", "step_seconds", "forward_seconds", "backward_seconds",
        "optimizer_seconds", "model_flops_per_second", "hardware_flops_per_second", "bound_seconds", "times_the_bound",
        "predicted_seconds", "rates", "recompute", "offload_activations", "streamed_layers",
        "group", "layers_with_weights_on_device", "layers_on_device", "layers_held", "share_updated_on_device", "links",
        "stalled_seconds", "peak_bytes"]


def measure(options):
    data = {"model": options.model, "points": []}
    if os.path.exists(options.data):
        with open(options.data) as file:
            data = json.load(file)
        if data["model"] != options.model:
            sys.exit(f"{options.data} holds points of {data['model']}: give another file")
    there = {(point["tokens_per_step"], point["limit"]) for point in data["points"]}
    for tokens in TOKENS:
        for limit in LIMITS:
            if (tokens, limit or "none") in there:
                continue
            command = [options.millrace, "bench", "step", "--device", options.device, "--model", options.model,
                       "--tokens", str(tokens), "--rounds", "1", "--steps", str(max(1, min(4, 65536 * 2 // tokens))),
                       "--json"] + (["--vram-limit", limit] if limit else [])
            print(" ".join(command), file=sys.stderr, flush=True)
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                print(done.stderr, file=sys.stderr)
                continue
            report = json.loads(done.stdout)
            data["machine"] = dict(report["machine"], device=report["device"])
            point = {"limit": limit or "none", "command": " ".join(["millrace"] + command[1:])}
            point.update({key: report[key] for key in KEPT if key in report})
            data["points"].append(point)
            with open(options.data, "w") as file:
                json.dump(data, file, indent=1)
    return 0 if len(data["points"]) == len(TOKENS) * len(LIMITS) else 1


WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 400, 70, 170, 52, 56
COLOURS = ["#b45309", "#0f766e", "#4338ca"]


def draw(options):
    with open(options.data) as file:
        data = json.load(file)
    points = data["points"]
    if not points:
        sys.exit(f"{options.data} holds no points")
    most = math.ceil(max(point["tokens_per_second"] for point in points) / 5000) * 5000
    low, high = math.log2(min(TOKENS)), math.log2(max(TOKENS))

    def x(tokens):
        return LEFT + (math.log2(tokens) - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def y(rate):
        return HEIGHT - BOTTOM - rate / most * (HEIGHT - TOP - BOTTOM)

    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
           f'font-size="13" fill="#1f2937"><rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
           f'<text x="{LEFT}" y="28" font-size="16">{data["model"]} on one {data["machine"]["device"]}: tokens a second'
           f'</text>']
    for rate in range(0, most + 1, 5000):
        svg.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(rate):.1f}" y2="{y(rate):.1f}" stroke="#d1d5db"/>'
                   f'<text x="{LEFT - 8}" y="{y(rate) + 4:.1f}" text-anchor="end">{rate:,}</text>')
    for tokens in TOKENS:
        svg.append(f'<text x="{x(tokens):.1f}" y="{HEIGHT - BOTTOM + 22}" text-anchor="middle">{tokens:,}</text>')
    svg.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">tokens a step</text>')
    labels = []
    for limit, colour in zip(LIMITS, COLOURS):
        line = sorted((p["tokens_per_step"], p["tokens_per_second"]) for p in points if p["limit"] == (limit or "none"))
        if not line:
            continue
        path = " ".join(f"{x(tokens):.1f},{y(rate):.1f}" for tokens, rate in line)
        svg.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        svg += [f'<circle cx="{x(t):.1f}" cy="{y(r):.1f}" r="3.5" fill="{colour}"/>' for t, r in line]
        labels.append([y(line[-1][1]) + 4, colour, limit.replace("GiB", " GiB of it") if limit else "all of its memory"])
    lowest = 0
    for at, colour, text in sorted(labels):  # where lines end close together, one label below another
        lowest = at = max(at, lowest + 17)
        svg.append(f'<text x="{WIDTH - RIGHT + 12}" y="{at:.1f}" fill="{colour}">{text}</text>')
    svg.append("</svg>")
    with open(options.chart, "w") as file:
        file.write("\n".join(svg) + "\n")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("millrace")
    measuring.add_argument("data")
    measuring.add_argument("--model", default="qwen2.5-3b")
    measuring.add_argument("--device", default="cuda:0")
    measuring.set_defaults(run=measure)
    drawing = commands.add_parser("draw")
    drawing.add_argument("data")
    drawing.add_argument("chart")
    drawing.set_defaults(run=draw)
    options = parser.parse_args()
    return options.run(options)


if __name__ == "__main__":
    sys.exit(main())
