# The same model and batch as bench_step, trained by PyTorch on the CPU: eager, AdamW, clipping. Prints JSON.
# usage: peer_torch.py REPORT.json [steps]     (REPORT.json: what bench_step printed)
import json
import math
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads, self.kv_heads = c["num_attention_heads"], c["num_key_value_heads"]
        self.size = c["head_dim"]
        self.q = nn.Linear(c["hidden_size"], self.heads * self.size, bias=False)
        self.k = nn.Linear(c["hidden_size"], self.kv_heads * self.size, bias=False)
        self.v = nn.Linear(c["hidden_size"], self.kv_heads * self.size, bias=False)
        self.o = nn.Linear(self.heads * self.size, c["hidden_size"], bias=False)

    def forward(self, x, cos, sin):
        rows, context, _ = x.shape
        split = lambda y, heads: y.view(rows, context, heads, self.size).transpose(1, 2)
        q, k, v = split(self.q(x), self.heads), split(self.k(x), self.kv_heads), split(self.v(x), self.kv_heads)
        rotate = lambda y: y * cos + torch.cat((-y[..., self.size // 2:], y[..., : self.size // 2]), -1) * sin
        out = F.scaled_dot_product_attention(rotate(q), rotate(k), v, is_causal=True,
                                             enable_gqa=self.heads != self.kv_heads)
        return self.o(out.transpose(1, 2).reshape(rows, context, -1))


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.norm1 = nn.RMSNorm(c["hidden_size"], eps=c["rms_norm_eps"])
        self.attention = Attention(c)
        self.norm2 = nn.RMSNorm(c["hidden_size"], eps=c["rms_norm_eps"])
        self.gate = nn.Linear(c["hidden_size"], c["intermediate_size"], bias=False)
        self.up = nn.Linear(c["hidden_size"], c["intermediate_size"], bias=False)
        self.down = nn.Linear(c["intermediate_size"], c["hidden_size"], bias=False)

    def forward(self, x, cos, sin):
        x = x + self.attention(self.norm1(x), cos, sin)
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.embedding = nn.Embedding(c["vocab_size"], c["hidden_size"])
        self.layers = nn.ModuleList(Layer(c) for _ in range(c["num_hidden_layers"]))
        self.norm = nn.RMSNorm(c["hidden_size"], eps=c["rms_norm_eps"])
        self.head = nn.Linear(c["hidden_size"], c["vocab_size"], bias=False)
        if c["tie_word_embeddings"]:
            self.head.weight = self.embedding.weight
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, cos, sin):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.head(self.norm(x))


def main():
    report = json.load(open(sys.argv[1]))
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    config = report["model"]
    assert config["model_type"] == "llama", "the peer is Llama-shaped"
    config.setdefault("head_dim", config["hidden_size"] // config["num_attention_heads"])
    torch.manual_seed(1)
    torch.set_num_threads(report["machine"]["threads"])
    rows, context, count = report["rows"], report["context"], report["micro_batches"]
    model = Llama(config)
    parameters = list(model.parameters())
    matrices = [p for p in parameters if p.dim() > 1]
    vectors = [p for p in parameters if p.dim() <= 1]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}],
                                  lr=1e-5, betas=(0.9, 0.95), fused=True)
    size = config["head_dim"]
    theta = config.get("rope_theta") or (config.get("rope_parameters") or {}).get("rope_theta", 10000.0)
    angles = torch.arange(context)[:, None] * theta ** (-torch.arange(0, size, 2) / size)
    cos, sin = torch.cat((angles, angles), -1).cos(), torch.cat((angles, angles), -1).sin()
    batches = [torch.randint(config["vocab_size"], (2, rows, context)) for _ in range(count)]

    def step():
        for tokens, targets in batches:
            logits = model(tokens, cos, sin)
            loss = F.cross_entropy(logits.view(-1, config["vocab_size"]), targets.view(-1)) / count
            loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    step()  # memory is allocated, kernels are made
    seconds = []
    for _ in range(steps):
        begin = time.perf_counter()
        loss = step()
        seconds.append(time.perf_counter() - begin)
        assert math.isfinite(loss)
    median = statistics.median(seconds)
    print(json.dumps({"torch": torch.__version__, "threads": torch.get_num_threads(),
                      "parameters": sum(p.numel() for p in parameters), "step_seconds": median,
                      "tokens_per_second": rows * context * count / median}, indent=2))


main()
