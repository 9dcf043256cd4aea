"""The reference of tests/app/test_fine_tune.cpp: a small chat model as transformers makes it, the run in PyTorch that a
fine-tune of it is compared with, and what transformers makes of the result. All in float32 on the CPU.

    fine_tune_oracle.py make FOLDER CONTEXT STEPS RATE   a model folder, chats.jsonl (ShareGPT), and of the run in PyTorch
                                                    expected.json: rows of an epoch, losses, norms, the loss after it
    fine_tune_oracle.py loss FOLDER CONTEXT MODEL   of another model folder on the same data
    fine_tune_oracle.py generate MODEL TOKENS MESSAGE   prints {"text": ...}, decoded greedily

Each step takes all rows of an epoch, so that their order, which other tests look at, changes nothing.
"""
import json
import os
import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

TEMPLATE = ("{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + "
            "'<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
ROLES = {"human": "user", "gpt": "assistant", "system": "system"}
PLACES = ["the river", "a mill", "the old weir", "Ötztal", "市場"]


def conversations():
    for i in range(48):
        place = PLACES[i % len(PLACES)]
        turns = [{"from": "system", "value": f"You keep the records of {place}."}] if i % 3 == 0 else []
        for turn in range(1 + i % 4):
            turns.append({"from": "human", "value": f"What was the water at {place} on day {7 * i + turn}?"})
            turns.append({"from": "gpt", "value": f"On day {7 * i + turn} it stood at {(13 * i + 5 * turn) % 97} feet."})
        if i % 5 == 4:
            turns.append({"from": "human", "value": "Thank you."})  # nothing of it is learnt
        yield {"id": i, "conversations": turns}


def make(folder, context, steps, rate):
    torch.manual_seed(7)
    chats = list(conversations())
    with open(os.path.join(folder, "chats.jsonl"), "w") as file:
        for chat in chats:
            file.write(json.dumps(chat, ensure_ascii=False) + "\n")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        (turn["value"] for chat in chats for turn in chat["conversations"]),
        trainers.BpeTrainer(vocab_size=400, special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
                            initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    fast.chat_template = TEMPLATE
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=len(fast), hidden_size=32, intermediate_size=64, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=256, initializer_range=0.05, bos_token_id=None,
        eos_token_id=fast.eos_token_id, pad_token_id=fast.pad_token_id, tie_word_embeddings=False))
    model.save_pretrained(os.path.join(folder, "model"), max_shard_size="100KB")
    fast.save_pretrained(os.path.join(folder, "model"))
    with open(os.path.join(folder, "expected.json"), "w") as file:
        json.dump(train(folder, context, steps, rate), file)


def documents(folder, context):
    """Ids of each conversation, at most a row of them, and which of them assistants say."""
    tokenizer = AutoTokenizer.from_pretrained(os.path.join(folder, "model"))
    with open(os.path.join(folder, "chats.jsonl")) as file:
        for line in file:
            text, said = "", []
            for turn in json.loads(line)["conversations"]:
                text += f"<|im_start|>{ROLES[turn['from']]}\n"
                begin = len(text)
                text += turn["value"] + "<|im_end|>"
                if turn["from"] == "gpt":
                    said.append((begin, len(text)))
                text += "\n"
            encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
            learnt = [any(begin <= start < end for begin, end in said) for start, _ in encoded["offset_mapping"]]
            yield encoded["input_ids"][:context], learnt[:context]


def rows_of(folder, context):
    """Rows of (token, target or -100, document, position): conversations end to end, none looking over its ends."""
    flat = []
    for number, (ids, learnt) in enumerate(documents(folder, context)):
        for i, token in enumerate(ids):
            target = ids[i + 1] if i + 1 < len(ids) and learnt[i + 1] else -100
            flat.append((token, target, number))
    rows = []
    for first in range(0, len(flat) - context + 1, context):
        row, begin = [], 0
        for at, (token, target, number) in enumerate(flat[first:first + context]):
            if at > 0 and number != row[-1][2]:
                begin = at
            row.append((token, target, number, at - begin))
        rows.append(row)
    return rows


def loss_of(model, rows):
    columns = [torch.tensor([[entry[i] for entry in row] for row in rows]) for i in range(4)]
    tokens, targets, document, position = columns
    context = tokens.shape[1]
    causal = torch.ones(context, context, dtype=torch.bool).tril()
    seen = causal & (document[:, :, None] == document[:, None, :])
    mask = torch.zeros(seen.shape).masked_fill(~seen, torch.finfo(torch.float32).min)[:, None]
    logits = model(input_ids=tokens, attention_mask=mask, position_ids=position, use_cache=False).logits
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def load(folder):
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()


def train(folder, context, steps, rate):
    rows, model = rows_of(folder, context), load(os.path.join(folder, "model"))
    decayed = [parameter for parameter in model.parameters() if parameter.dim() >= 2]
    others = [parameter for parameter in model.parameters() if parameter.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
                                  lr=rate, betas=(0.9, 0.999), eps=1e-8)
    losses, norms = [], []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model, rows)
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).item())
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        return {"rows": len(rows), "context": context, "rate": rate, "loss": losses, "grad_norm": norms,
                "loss_after": loss_of(model, rows).item()}


def generate(folder, count, message):
    tokenizer, model = AutoTokenizer.from_pretrained(folder), load(folder)
    prompt = tokenizer.apply_chat_template([{"role": "user", "content": message}], add_generation_prompt=True,
                                           tokenize=False)
    ids = tokenizer(prompt, add_special_tokens=False, return_tensors="pt").input_ids
    made = model.generate(ids, max_new_tokens=count, do_sample=False)[0, ids.shape[1]:]
    print(json.dumps({"prompt": prompt, "text": tokenizer.decode(made, skip_special_tokens=True)}))


def main():
    command, folder = sys.argv[1:3]
    if command == "make":
        make(folder, int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
    elif command == "loss":
        with torch.no_grad():
            print(json.dumps({"loss": loss_of(load(sys.argv[4]), rows_of(folder, int(sys.argv[3]))).item()}))
    elif command == "generate":
        generate(folder, int(sys.argv[3]), sys.argv[4])


main()
