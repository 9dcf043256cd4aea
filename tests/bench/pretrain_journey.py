#!/usr/bin/env python3
"""Pretrains a tiny model from generated data as it would be from a large corpus, and prints as JSON what that takes.

Makes JSON lines in the manner of The Pile (a text and meta.pile_set_name), as many bytes of text as asked for, in files
of at most 256 MB, compressed where --zst is given; trains until all of it is tokenized; and tells the time to the first
step, the rate of tokenizing while training runs, and the largest resident memory. Memory is bounded if it does not grow
with the data:

  pretrain_journey.py build/release/app/millrace --bytes 200e6
  pretrain_journey.py build/release/app/millrace --bytes 2e9
"""
import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SETS = ["Pile-CC", "Wikipedia (en)", "Github", "PubMed Abstracts", "StackExchange"]
FILE_BYTES = 256_000_000


def words(generator, count):
    """A vocabulary of made-up words, the frequent ones short."""
    syllables = [a + b for a in "bcdfghklmnprstvw" for b in "aeiou"]
    return ["".join(generator.choices(syllables, k=1 + i * 4 // count)) for i in range(count)]


def documents(size, seed):
    """Lines of JSON that hold `size` bytes of text."""
    generator = random.Random(seed)
    vocabulary = words(generator, 20000)
    weights = [1 / (i + 3) for i in range(len(vocabulary))]
    sentences = [" ".join(generator.choices(vocabulary, weights, k=generator.randint(4, 20))).capitalize() + "."
                 for _ in range(50000)]
    while size > 0:
        text = " ".join(generator.choices(sentences, k=min(int(generator.paretovariate(1.2) * 8), 2000)))
        size -= len(text)
        yield json.dumps({"text": text, "meta": {"pile_set_name": generator.choice(SETS)}}) + "\n"


def generate(folder, size, compressed):
    folder.mkdir()
    part = 0
    while size > 0:
        path = folder / f"{part:03}.jsonl"
        with open(path, "w", encoding="utf-8") as out:
            out.writelines(documents(min(size, FILE_BYTES), part))
        if compressed:
            subprocess.run(["zstd", "-q", "--rm", path], check=True)
        size -= FILE_BYTES
        part += 1


def project(folder, context):
    model = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
             "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 8192, "max_position_embeddings": context}
    return {"format": 1, "name": "journey", "model": {"config": model},
            "tokenizer": {"train": {"vocabulary": 8192, "bytes": "8MiB"}},
            "data": {"sources": [str(folder / "data")], "cache": str(folder / "cache")},
            "training": {"steps": 1_000_000_000, "context": context, "micro_batch": 4, "warmup_steps": 10,
                         "schedule": "constant", "device": "cpu"},
            "evaluation": {"every": 20, "rows": 64}, "checkpoint": {"every_minutes": 0}}


def peak_memory(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def journey(program, folder, least_steps):
    run = folder / "run"
    begin = time.monotonic()
    process = subprocess.Popen([program, "train", folder / "project.json", "--run-dir", run, "--json"],
                               stdout=subprocess.PIPE, text=True)
    result = {"seconds_to_first_step": None, "seconds_to_all_tokenized": None, "peak_bytes": 0, "steps": 0,
              "sets": None, "seconds_waited_for_data": 0.0}
    for line in process.stdout:
        event = json.loads(line)
        result["peak_bytes"] = max(result["peak_bytes"], peak_memory(process.pid))
        if event["event"] == "step":
            result["steps"] = event["step"]
            result["seconds_waited_for_data"] += event["stalls"]["data"]
            if result["seconds_to_first_step"] is None:
                result["seconds_to_first_step"] = time.monotonic() - begin
        elif event["event"] == "evaluation" and "sets" in event:
            result["sets"] = {entry["name"]: entry["loss"] for entry in event["sets"]}
        elif event["event"] == "log" and "tokens to train on" in event["message"]:
            result["seconds_to_all_tokenized"] = time.monotonic() - begin
            result["data"] = event["message"]
        if result["seconds_to_all_tokenized"] and result["steps"] >= least_steps:
            break
    process.send_signal(signal.SIGINT)
    process.stdout.read()
    if process.wait() not in (0, 4):
        sys.exit(f"{program} ended with {process.returncode}")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--bytes", type=float, default=2e9, help="of text to generate")
    parser.add_argument("--zst", action="store_true", help="compress the files")
    parser.add_argument("--context", type=int, default=256)
    parser.add_argument("--steps", type=int, default=40, help="to train at least")
    parser.add_argument("--folder", help="where data, cache and run go; default: a temporary one")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        generate(folder / "data", int(arguments.bytes), arguments.zst)
        (folder / "project.json").write_text(json.dumps(project(folder, arguments.context)))
        result = {"text_bytes": int(arguments.bytes), "compressed": arguments.zst, "cores": os.cpu_count(),
                  **journey(arguments.program, folder, arguments.steps)}
    result["text_bytes_per_second"] = arguments.bytes / result["seconds_to_all_tokenized"]
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
