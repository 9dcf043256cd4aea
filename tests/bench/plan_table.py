#!/usr/bin/env python3
"""Twelve runs, each planned first: what the plan said beside what the run did.

    python3 tests/bench/plan_table.py build/dev/app/millrace [--device cpu|cuda:N] [--repeats N] [--steps N]
                                      [--json FILE] [--only NAME]

Engine memory and the checkpoint's bytes must be as planned to the byte, the process's memory (its peak of resident
bytes) at most as planned and at least 95% of it. Step times are the medians of the run's own metrics; a machine whose
speed drifts is met by planning before and after every run, each time with a rehearsal, and by the median of the ratios
over the repeats. On a GPU the process's memory is what the card has less of while the run is there (NVML's figure, so
nobody else may use the card), at most 3% from the plan. Run `millrace bench machine --device D` before. Exit status 1:
a figure of bytes is off. Times are shown, and never fail it: they depend on what else the machine does.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading

MIB = 1 << 20


def model(family="llama", hidden=256, layers=4, inner=None, heads=8, kv=None, vocabulary=4096, tied=False,
          positions=2048):
    return {"model_type": family, "vocab_size": vocabulary, "hidden_size": hidden,
            "intermediate_size": inner or hidden * 8 // 3 // 32 * 32, "num_hidden_layers": layers,
            "num_attention_heads": heads, "num_key_value_heads": kv or heads, "max_position_embeddings": positions,
            "rms_norm_eps": 1e-5, "tie_word_embeddings": tied, "hidden_act": "silu"}


# Name, model, training, memory: sizes, contexts, precisions, recompute policies, caps, placements and clip modes.
RUNS = [
    ("small, all free", model(hidden=192, layers=6, heads=6, kv=2, tied=True), dict(context=128, micro_batch=8), {}),
    ("20M, streamed", model(hidden=384, layers=8), dict(context=256, micro_batch=4),
     dict(placement="ram")),
    ("60M, no recompute", model(hidden=512, layers=12, inner=1664, vocabulary=16384),
     dict(context=512, micro_batch=4, recompute="none"), {}),
    ("60M, full recompute", model(hidden=512, layers=12, inner=1664, vocabulary=16384),
     dict(context=512, micro_batch=4, recompute="full"), dict(placement="ram")),
    ("60M, bf16, weights there", model(hidden=512, layers=12, inner=1664, vocabulary=16384),
     dict(context=256, micro_batch=4, precision="bf16"), dict(placement="weights")),
    ("100M, capped", model(hidden=768, layers=10, inner=2048, heads=12, vocabulary=8192),
     dict(context=256, micro_batch=2, micro_batches=2), dict(vram_limit=260 * MIB)),
    ("100M, bf16, exact-bf16", model(hidden=768, layers=10, inner=2048, heads=12, vocabulary=8192),
     dict(context=256, micro_batch=4, precision="bf16", clip="exact-bf16"), dict(placement="ram")),
    ("100M, clip off", model(hidden=768, layers=10, inner=2048, heads=12, vocabulary=8192),
     dict(context=256, micro_batch=4, clip="off", recompute="selective"), dict(placement="ram")),
    ("long rows", model(hidden=384, layers=6, heads=6), dict(context=2048, micro_batch=1, recompute="selective"), {}),
    ("offloaded activations", model(hidden=512, layers=8), dict(context=512, micro_batch=2, micro_batches=4,
                                                                  offload_activations="on", recompute="selective"),
     dict(placement="ram")),
    ("grouped heads, groups of 1", model("qwen3", hidden=512, layers=6, heads=8, kv=2),
     dict(context=256, micro_batch=4, micro_batches=3, schedule_group=1), dict(placement="ram")),
    ("large vocabulary, tied", model(hidden=512, layers=4, vocabulary=50304, tied=True),
     dict(context=256, micro_batch=4, precision="bf16", recompute="full"), dict(placement="vram")),
]


def project(entry, folder, steps, device):
    name, config, training, memory = entry
    training = dict(steps=steps, learning_rate=1e-4, device=device, **training)
    training.setdefault("micro_batches", 1)
    return {"format": 1, "name": name.replace(",", "").replace(" ", "-"), "model": {"config": config},
            "tokenizer": {"train": {"vocabulary": 1024}},
            "data": {"sources": {"path": "words.txt", "separator": "%"}, "cache": "cache", "validation_fraction": 0},
            "training": training, "memory": memory, "checkpoint": {"every_minutes": 0, "keep": 1, "keep_best": False}}


def write_words(folder):
    """Documents of many rows: attention is predicted for whole rows, and across the ends of documents there is none."""
    rng = random.Random(1)
    syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    with open(os.path.join(folder, "words.txt"), "w") as out:
        for paragraph in range(1, 3001):
            out.write(" ".join("".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(60)) + ".\n")
            if paragraph % 300 == 0:
                out.write("%\n")


def used_of_card(device):
    query = ["nvidia-smi", "-i", device.split(":")[1], "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    return int(subprocess.run(query, stdout=subprocess.PIPE, check=True).stdout) * MIB


class CardWatch:
    """The most bytes that a card has been used of by what begins after this; CPU: nothing is looked at."""

    def __init__(self, device):
        self.most = 0
        self.device = device
        self.ended = threading.Event()
        if device == "cpu":
            return
        self.before = used_of_card(device)
        self.thread = threading.Thread(target=self.look)
        self.thread.start()

    def look(self):
        while not self.ended.wait(0.05):
            self.most = max(self.most, used_of_card(self.device) - self.before)

    def end(self):
        self.ended.set()
        if self.device != "cpu":
            self.thread.join()
        return self.most


def run_child(command):
    """Standard output, and the peak of resident bytes."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = child.stdout.read(), child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code != 0:
        sys.exit(f"{' '.join(command)}: exit status {code}\n{err.decode()}")
    return out, usage.ru_maxrss * 1024


def disk_bytes(folder):
    """Of the files with weights and moments, without what describes them."""
    total = 0
    for name in os.listdir(folder):
        if name.endswith(".safetensors"):
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                total += os.path.getsize(path) - 8 - int.from_bytes(file.read(8), "little")
    return total


def rehearsed_plan(program, path):
    return json.loads(run_child([program, "plan", path, "--json", "--rehearse"])[0])


def measure(program, entry, folder, steps, repeats, device):
    path = os.path.join(folder, "project.json")
    with open(path, "w") as out:
        json.dump(project(entry, folder, steps, device), out)
    run = os.path.join(folder, "run")
    plans, residents, seconds = [rehearsed_plan(program, path)], [], []
    for _ in range(repeats):
        watch = CardWatch(device)
        resident = run_child([program, "train", path, "--run-dir", run, "--replace", "--json"])[1]
        card = watch.end()
        residents.append(resident if device == "cpu" else card)
        with open(os.path.join(run, "metrics.jsonl")) as lines:
            metrics = [json.loads(line) for line in lines]
        seconds.append(statistics.median(step["seconds"] for step in metrics[2:]))
        plans.append(rehearsed_plan(program, path))
    plan, last = plans[0], metrics[-1]
    predicted = [(before["step_seconds"] + after["step_seconds"]) / 2 for before, after in zip(plans, plans[1:])]
    checkpoint = os.path.join(run, "checkpoints", f"step-{steps:08}")
    others = ("program", "driver context")
    engine = {tier: sum(bytes for name, bytes in plan["tiers"][tier]["categories"].items() if name not in others)
              for tier in ("vram", "ram")}
    return {
        "run": entry[0], "parameters": plan["parameters"],
        "planned_device": engine["vram"], "device": last["peak"]["device"],
        "planned_host": engine["ram"], "host": last["peak"]["host"],
        "planned_process": sum(plan["tiers"][tier]["bytes"]
                               for tier in (("vram", "ram") if device == "cpu" else ("vram",))),
        "process": max(residents),
        "planned_checkpoint": plan["run"]["checkpoint_bytes"], "checkpoint": disk_bytes(checkpoint),
        "predicted_seconds": predicted, "seconds": seconds, "rates": plan["rates"],
        "time_ratio": statistics.median(said / real for said, real in zip(predicted, seconds)),
    }


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program", help="the headless program")
    arguments.add_argument("--device", default="cpu", help="cpu, or cuda:N")
    arguments.add_argument("--steps", type=int, default=9, help="of each run")
    arguments.add_argument("--repeats", type=int, default=5, help="runs of each row")
    arguments.add_argument("--json", help="write the figures to a file")
    arguments.add_argument("--only", help="runs whose name holds this")
    options = arguments.parse_args()
    program = os.path.abspath(options.program)
    rows, wrong = [], []
    print(f"{'run':<28}{'parameters':>12}{'device MiB':>12}{'host MiB':>12}{'process MiB: plan':>19}{'real':>8}{'':>8}"
          f"{'checkpoint MiB':>16}{'step s: plan':>14}{'real':>8}{'':>8}")
    for entry in RUNS:
        if options.only and options.only not in entry[0]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            write_words(folder)
            row = measure(program, entry, folder, options.steps, options.repeats, options.device)
        rows.append(row)
        exact = all(row[f"planned_{what}"] == row[what] for what in ("device", "host", "checkpoint"))
        memory = row["process"] / row["planned_process"]
        as_planned = 0.95 <= memory <= 1 if options.device == "cpu" else 0.97 <= memory <= 1.03
        if not exact or not as_planned:
            wrong.append(row["run"])
        print(f"{row['run']:<28}{row['parameters']:>12,}{row['device'] / MIB:>12.1f}{row['host'] / MIB:>12.1f}"
              f"{row['planned_process'] / MIB:>19.1f}{row['process'] / MIB:>8.1f}{memory - 1:>+8.1%}"
              f"{row['checkpoint'] / MIB:>16.1f}{statistics.median(row['predicted_seconds']):>14.3f}"
              f"{statistics.median(row['seconds']):>8.3f}{row['time_ratio'] - 1:>+8.1%}{'' if exact else '  BYTES DIFFER'}", flush=True)
    if options.json:
        with open(options.json, "w") as out:
            json.dump(rows, out, indent=1)
    if wrong:
        sys.exit(f"off in bytes: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
