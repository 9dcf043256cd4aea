# Where each token of a text begins, as Hugging Face tokenizers says.
#   token_begins.py TOKENIZERS_FOLDER OUT.json
# For every KIND/tokenizer.json of the folder: a list of texts with their ids, without special tokens put around them,
# and the byte that each token begins at; white space in front of a word counts as part of its token.
import json
import pathlib
import sys

from tokenizers import Tokenizer

TEXTS = [
    "<|im_start|>user\nHello, how are you?<|im_end|>\n<|im_start|>assistant\nI'm  fine — thanks!\n\n<|im_end|>\n",
    "### User:\nWhat is 12345 + 678?\n\n### Assistant:\n12345 + 678 = 13023</s>\n\n",
    "<s>[INST] Grüße aus Köln! [/INST] Willkommen, 你好 😀 </s><s>[INST] noch   etwas [/INST] nein</s>",
    "<|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n"
    "def f(x):\n\treturn x*2<|eot_id|>",
    "é e\u0301 ﬁ Å A\u030a end",
    " leading space, trailing space ",
    "",
]


def keep_white_space(value):
    if isinstance(value, dict):
        if "trim_offsets" in value:
            value["trim_offsets"] = False
        for part in value.values():
            keep_white_space(part)
    elif isinstance(value, list):
        for part in value:
            keep_white_space(part)


result = {}
for folder in sorted(p for p in pathlib.Path(sys.argv[1]).iterdir() if p.is_dir()):
    description = json.loads((folder / "tokenizer.json").read_text())
    keep_white_space(description)
    tokenizer = Tokenizer.from_str(json.dumps(description))
    result[folder.name] = []
    for text in TEXTS:
        encoded = tokenizer.encode(text, add_special_tokens=False)
        byte = [len(text[:i].encode()) for i in range(len(text) + 1)]
        result[folder.name].append({"text": text, "ids": encoded.ids, "begins": [byte[s] for s, _ in encoded.offsets]})
pathlib.Path(sys.argv[2]).write_text(json.dumps(result, ensure_ascii=False, indent=0))
