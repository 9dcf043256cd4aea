# Millrace and Hugging Face tokenizers on the same text, one thread each, in turns; prints JSON.
# usage: compare_tokenizers.py BENCH_TOKENIZER TEXT TOKENIZER.json ...
# MILLRACE_ORACLE_PYTHON names a Python with tokenizers.
import json
import os
import pathlib
import statistics
import subprocess
import sys

PEER = """
import os, sys, time
os.environ["TOKENIZERS_PARALLELISM"] = "false"
from tokenizers import Tokenizer
tokenizer = Tokenizer.from_file(sys.argv[1])
text, documents = open(sys.argv[2], encoding="utf-8", errors="replace", newline="").read(), []
while text:
    end = text.find("\\n\\n", 4096)
    end = len(text) if end < 0 else end + 2
    documents.append(text[:end])
    text = text[end:]
best = 1e9
for _ in range(3):
    started = time.perf_counter()
    for document in documents:
        tokenizer.encode(document, add_special_tokens=False)
    best = min(best, time.perf_counter() - started)
print(best)
"""

program, text, tokenizers = sys.argv[1], sys.argv[2], sys.argv[3:]
python = os.environ.get("MILLRACE_ORACLE_PYTHON")
if not python:
    sys.exit("compare_tokenizers.py: set MILLRACE_ORACLE_PYTHON to a Python with tokenizers")
size = os.path.getsize(text) / 1e6
with open("/proc/cpuinfo") as info:
    processor = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), "unknown")
report = {"command": "compare_tokenizers.py bench_tokenizer TEXT " + " ".join(pathlib.Path(t).name for t in tokenizers), "processor": processor,
          "cores": os.cpu_count(), "megabytes": round(size, 3), "tokenizers": {}}
for tokenizer in tokenizers:
    ours, theirs = [], []
    for _ in range(3):
        out = subprocess.run([program, tokenizer, text, "1"], check=True, capture_output=True, text=True).stdout
        ours.append(json.loads(out)["megabytes_per_second"])
        theirs.append(size / float(subprocess.run([python, "-c", PEER, tokenizer, text], check=True, capture_output=True, text=True).stdout))
    report["tokenizers"][pathlib.Path(tokenizer).stem] = {
        "millrace_megabytes_per_second": round(statistics.median(ours), 1),
        "tokenizers_megabytes_per_second": round(statistics.median(theirs), 2),
        "ratio": round(statistics.median(a / b for a, b in zip(ours, theirs)), 1),
    }
print(json.dumps(report, indent=2))
