# Makes reference cases as tests/golden holds them, of small random models, with PyTorch and Hugging Face transformers.
# usage: golden_cases.py FOLDER CASES.json   (CASES: {"name": {keys of a config.json}, ...}; keys that begin with an
# underscore are for this program: "_keep": what to write into config.json instead of what transformers writes)
import json
import math
import pathlib
import random
import sys

import torch
from transformers import AutoConfig, AutoModelForCausalLM


def fingerprint(tensor, draw):
    flat = tensor.detach().double().flatten()
    index = [draw.randrange(flat.numel()) for _ in range(min(24, flat.numel()))]
    return {"shape": list(tensor.shape), "l2": flat.norm().item(), "sum": flat.sum().item(), "index": index,
            "value": flat[index].tolist()}


def perturbed(model, draw):
    """Weights scaled up, norms and biases moved from their ones and zeros, so that mistakes show."""
    generator = torch.Generator().manual_seed(draw.randrange(1 << 30))
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.dim() > 1:
                parameter.copy_(noise * 0.08)
            else:
                parameter.add_(noise * 0.1)


def batch_of(vocabulary, draw, rows=2, length=40):
    inputs = [[draw.randrange(vocabulary) for _ in range(length)] for _ in range(rows)]
    labels = [list(row) for row in inputs]
    for masked in range(5):
        labels[0][masked] = -100
    return inputs, labels


def loss_of(model, inputs, labels):
    logits = model(input_ids=inputs, use_cache=False).logits.float()
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100)
    return logits, loss


def make(folder, name, keys):
    draw = random.Random(name)
    torch.manual_seed(draw.randrange(1 << 30))
    kept = keys.pop("_keep", None)
    settings = {key: value for key, value in keys.items() if key != "model_type"}
    config = AutoConfig.for_model(keys["model_type"], **settings)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager", dtype=torch.float32)
    model.train()
    perturbed(model, draw)
    place = pathlib.Path(folder) / name
    model.save_pretrained(place)
    if kept is not None:
        (place / "config.json").write_text(json.dumps({"model_type": keys["model_type"], **kept}))

    inputs, labels = batch_of(config.vocab_size, draw)
    ids, targets = torch.tensor(inputs), torch.tensor(labels)
    lr, low, warmup, total = 0.003, 0.1, 2, 6
    rates = [lr * (s + 1) / warmup if s < warmup else
             lr * (low + (1 - low) * 0.5 * (1 + math.cos(math.pi * (s + 1 - warmup) / (total - warmup))))
             for s in range(total)]
    decayed = [p for p in model.parameters() if p.dim() > 1]
    plain = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}],
                                  lr=lr, betas=(0.9, 0.95), eps=1e-8)
    expected = {"input_ids": inputs, "labels": labels, "step_loss": [], "step_grad_norm": [], "step_lr": rates,
                "hyperparameters": {"lr": lr, "beta1": 0.9, "beta2": 0.95, "eps": 1e-8, "weight_decay": 0.1,
                                    "clip_norm": 1.0},
                "packed": None}
    for step, rate in enumerate(rates):
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad()
        logits, loss = loss_of(model, ids, targets)
        loss.backward()
        gradients = {n: fingerprint(p.grad, draw) for n, p in model.named_parameters()} if step == 0 else None
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if step == 0:
            expected.update(loss=loss.item(), grad_norm=norm.item(), logits=fingerprint(logits, draw),
                            gradients=gradients)
        expected["step_loss"].append(loss.item())
        expected["step_grad_norm"].append(norm.item())
        optimizer.step()
    with torch.no_grad():
        expected["loss_after"] = loss_of(model, ids, targets)[1].item()
        expected["parameters_after_6_steps"] = {n: fingerprint(p, draw) for n, p in model.named_parameters()}
        text = inputs[0][:8]
        for _ in range(16):
            text.append(model(torch.tensor([text]), use_cache=False).logits[0, -1].argmax().item())
    expected["greedy_prompt"], expected["greedy_continuation"] = text[:8], text[8:]
    (place / "expected.json").write_text(json.dumps(expected))


if __name__ == "__main__":
    torch.set_num_threads(2)
    for case, config_keys in json.loads(pathlib.Path(sys.argv[2]).read_text()).items():
        make(sys.argv[1], case, config_keys)
