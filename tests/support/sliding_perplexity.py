# Prints, as JSON, the perplexity of a text under a Hugging Face model as papers report it: a window slides over the text,
# and only tokens that no window before had are counted. usage: sliding_perplexity.py FOLDER CONTEXT STRIDE [TEXT_FILE]
# Without a file the text is 500 made-up tokens: token i is (i * i * 7 + i // 3) % vocabulary.
import json
import math
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

folder, context, stride = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
text = ""
if len(sys.argv) > 4:
    text = open(sys.argv[4], encoding="utf-8", newline="").read()
    ids = AutoTokenizer.from_pretrained(folder)(text)["input_ids"]
else:
    ids = [(i * i * 7 + i // 3) % model.config.vocab_size for i in range(500)]

total, targets, previous_end = 0.0, 0, 0
for begin in range(0, len(ids), stride):
    end = min(begin + context, len(ids))
    tokens = torch.tensor([ids[begin:end]])
    labels = tokens.clone()
    labels[:, : -(end - previous_end)] = -100
    with torch.no_grad():
        logits = model(tokens).logits[0, :-1]
    losses = torch.nn.functional.cross_entropy(logits, labels[0, 1:], reduction="none", ignore_index=-100)
    total += losses.double().sum().item()
    targets += int((labels[0, 1:] != -100).sum())
    previous_end = end
    if end == len(ids):
        break

result = {"context": context, "stride": stride, "sum": total, "targets": targets, "perplexity": math.exp(total / targets)}
if text:
    words, size = len(text.split()), len(text.encode("utf-8"))
    result |= {"tokens": len(ids), "words": words, "word_perplexity": math.exp(total / words),
               "bits_per_byte": total / math.log(2) / size}
print(json.dumps(result))
