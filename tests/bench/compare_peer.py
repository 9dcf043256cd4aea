# Millrace and PyTorch on the same model, batch and threads, in turns in one run; prints JSON, and writes it where asked.
# usage: compare_peer.py BENCH_STEP quickstart|60m [turns] [OUT.json]
# MILLRACE_ORACLE_PYTHON names a Python with torch.
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

program, model = sys.argv[1], sys.argv[2]
turns = int(sys.argv[3]) if len(sys.argv) > 3 else 3
python = os.environ.get("MILLRACE_ORACLE_PYTHON")
if not python:
    sys.exit("compare_peer.py: set MILLRACE_ORACLE_PYTHON to a Python with torch")
peer = pathlib.Path(__file__).with_name("peer_torch.py")

ours, theirs = [], []
for turn in range(turns):
    text = subprocess.run([program, model, "3", "2"], check=True, capture_output=True, text=True).stdout
    ours.append(json.loads(text))
    with tempfile.NamedTemporaryFile("w", suffix=".json") as report:
        report.write(text)
        report.flush()
        text = subprocess.run([python, str(peer), report.name, "5"], check=True, capture_output=True, text=True).stdout
    theirs.append(json.loads(text))
    assert ours[-1]["parameters"] == theirs[-1]["parameters"], "the two models differ"

median = lambda values: statistics.median(values)
result = {
    "command": f"compare_peer.py bench_step {model} {turns}",
    "model": model,
    "turns": turns,
    "millrace_tokens_per_second": median([r["tokens_per_second"] for r in ours]),
    "torch_tokens_per_second": median([r["tokens_per_second"] for r in theirs]),
    "ratio": median([a["tokens_per_second"] / b["tokens_per_second"] for a, b in zip(ours, theirs)]),
    "ratio_goal": 1.2,
    "share_of_matrix_products": median([r["matrix_products"]["share_of_step"] for r in ours]),
    "share_goal": 0.6,
    "torch": theirs[-1]["torch"],
    "millrace": ours[-1],
}
text = json.dumps(result, indent=2)
print(text)
if len(sys.argv) > 4:
    pathlib.Path(sys.argv[4]).write_text(text + "\n")
