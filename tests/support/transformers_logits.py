# Prints, as JSON, what Hugging Face transformers makes of an exported model: the logits after each of the tokens, and,
# when the folder has a tokenizer, the ids of a text. usage: transformers_logits.py FOLDER "1,2,3" [TEXT]
import json
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

folder, tokens = sys.argv[1], [int(token) for token in sys.argv[2].split(",")]
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
with torch.no_grad():
    logits = model(torch.tensor([tokens])).logits[0]
result = {"logits": logits.tolist(), "tied": bool(model.config.tie_word_embeddings),
          "eos": model.generation_config.eos_token_id}
if len(sys.argv) > 3:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    result["ids"] = tokenizer(sys.argv[3])["input_ids"]
    result["eos_token"] = tokenizer.eos_token
print(json.dumps(result))
