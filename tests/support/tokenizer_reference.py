# Tokenizers in the manner of released models, trained here with Hugging Face tokenizers, and what that library makes of
# mixed text with them.
#   tokenizer_reference.py FOLDER MEGABYTES [KIND ...]
# Writes FOLDER/texts (a line of base64 for each text: prose, code, many scripts, broken UTF-8) and for each kind
# FOLDER/KIND.json and FOLDER/KIND.expected: for each text the MD5 of its ids (little-endian int32) with and without
# special tokens, and of the decoded text. Prints seconds of one thread for all texts at once, by kind.
import base64
import glob
import hashlib
import json
import os
import random
import struct
import sys
import time
import unicodedata

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

GPT4 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN = GPT4.replace("{1,3}", "")
TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|"
          r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|"
          r"\s*[\r\n]+|\s+(?!\S)|\s+")
O200K = TEKKEN.replace("]+|[^", "]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^").replace(r"\p{N}|", r"\p{N}{1,3}|")
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"
DEEPSEEK = [r"[\r\n]", r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁ]+", r"\s?[!-/:-~！-／：-～‘-‟　-。]+", r"\s+$", r"[一-龥ࠀ-一가-퟿]+"]
SPACE = "\u2581"
BYTES = [f"<0x{i:02X}>" for i in range(256)]


def byte_level(split=None, normalizer=None, add_prefix_space=False, before=(), ignore_merges=False, template=None):
    def build(train):
        tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
        if normalizer:
            tokenizer.normalizer = normalizer
        parts = list(before)
        if split:
            parts.append(pre_tokenizers.Split(Regex(split), behavior="isolated"))
        parts.append(pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space, use_regex=split is None))
        tokenizer.pre_tokenizer = parts[0] if len(parts) == 1 else pre_tokenizers.Sequence(parts)
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
        special = ["<|begin|>", "<|end|>", "<|endoftext|>"]
        train(tokenizer, trainers.BpeTrainer(vocab_size=5000, special_tokens=special, show_progress=False,
                                             initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
        if template:
            tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False),
                                                            processors.TemplateProcessing("<|begin|> $A", "<|begin|> $A $B:1", [("<|begin|>", 0)])])
        return tokenizer
    return build


def sentence_piece(normalizer=None, pre_tokenizer=None, decoder=None, byte_fallback=True, fuse=True, patch=None):
    def build(train):
        tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=fuse, byte_fallback=byte_fallback))
        if normalizer:
            tokenizer.normalizer = normalizer
        # Trained on words, as SentencePiece does, whatever the file says afterwards.
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
        special = ["<unk>", "<s>", "</s>"] + (BYTES if byte_fallback else [])
        train(tokenizer, trainers.BpeTrainer(vocab_size=4000, special_tokens=special, limit_alphabet=700, show_progress=False))
        file = json.loads(tokenizer.to_str())
        file["added_tokens"] = [token for token in file["added_tokens"] if not token["content"].startswith("<0x")]
        tokenizer = Tokenizer.from_str(json.dumps(file))
        tokenizer.pre_tokenizer = pre_tokenizer
        tokenizer.decoder = decoder
        tokenizer.post_processor = processors.TemplateProcessing("<s> $A", "<s> $A <s>:1 $B:1", [("<s>", 1)])
        return tokenizer
    return build


LLAMA_DECODER = decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])


def plain(normalizer=None, pre_tokenizer=None, decoder=None, **options):
    def build(train):
        tokenizer = Tokenizer(models.BPE(unk_token="[UNK]", **options))
        if normalizer:
            tokenizer.normalizer = normalizer
        tokenizer.pre_tokenizer = pre_tokenizer or pre_tokenizers.Whitespace()
        trainer = {"continuing_subword_prefix": options.get("continuing_subword_prefix"), "end_of_word_suffix": options.get("end_of_word_suffix")}
        train(tokenizer, trainers.BpeTrainer(vocab_size=4000, special_tokens=["[UNK]", "[CLS]", "[SEP]"], limit_alphabet=500,
                                             show_progress=False, **{k: v for k, v in trainer.items() if v}))
        if decoder:
            tokenizer.decoder = decoder
        tokenizer.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
        return tokenizer
    return build


P = pre_tokenizers
N = normalizers
KINDS = {
    "gpt2": byte_level(),
    "gpt2_prefix": byte_level(add_prefix_space=True),
    "llama3": byte_level(GPT4, ignore_merges=True, template=True),
    "qwen2": byte_level(QWEN, N.NFC()),
    "tekken": byte_level(TEKKEN),
    "o200k": byte_level(O200K, ignore_merges=True),
    "bloom": byte_level(BLOOM),
    "smollm": byte_level(before=[P.Digits(individual_digits=True)]),
    "starcoder": byte_level(before=[P.Digits(individual_digits=True)], normalizer=N.NFKC()),
    "falcon": byte_level(before=[P.Punctuation(behavior="contiguous")]),
    "deepseek": byte_level(before=[P.Split(Regex(r), "isolated") for r in DEEPSEEK] + [P.Digits(individual_digits=True)]),
    "lower": byte_level(GPT4, N.Sequence([N.NFD(), N.Lowercase(), N.StripAccents()])),
    "llama2": sentence_piece(N.Sequence([N.Prepend(SPACE), N.Replace(" ", SPACE)]), None, LLAMA_DECODER),
    "llama2_metaspace": sentence_piece(None, P.Metaspace(prepend_scheme="first", split=False), LLAMA_DECODER),
    "mistral": sentence_piece(None, P.Metaspace(prepend_scheme="always", split=True), decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])),
    "gemma": sentence_piece(N.Replace(" ", SPACE), P.Split(" ", "merged_with_previous"), decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()])),
    "no_fallback": sentence_piece(N.Sequence([N.Strip(), N.Replace(Regex(" {2,}"), " "), N.Replace(" ", SPACE)]), None, LLAMA_DECODER, byte_fallback=False),
    "no_fuse": sentence_piece(N.NFKC(), P.Metaspace(prepend_scheme="never"), decoders.Metaspace(prepend_scheme="never"), byte_fallback=False, fuse=False),
    "whitespace": plain(),
    "whitespace_split": plain(N.NFC(), P.Sequence([P.WhitespaceSplit(), P.Punctuation()])),
    "punctuation_next": plain(N.Lowercase(), P.Sequence([P.WhitespaceSplit(), P.Punctuation(behavior="merged_with_next")])),
    "punctuation_previous": plain(None, P.Sequence([P.WhitespaceSplit(), P.Punctuation(behavior="merged_with_previous")])),
    "punctuation_removed": plain(None, P.Sequence([P.Punctuation(behavior="removed"), P.Digits()])),
    "suffix": plain(N.Sequence([N.NFC(), N.Lowercase()]), P.Whitespace(), decoders.BPEDecoder(suffix="</w>"), end_of_word_suffix="</w>"),
    "prefix": plain(None, P.Whitespace(), None, continuing_subword_prefix="##"),
    "split_inverted": plain(None, P.Split(Regex(r"\w+|[^\w\s]"), "removed", invert=True)),
    "split_contiguous": plain(None, P.Sequence([P.Split(Regex(r"[aeiou]"), "contiguous"), P.WhitespaceSplit()])),
}


def gather(size, generator):
    """Texts of many kinds, about so many bytes."""
    files = []
    for pattern in ("/usr/lib/python3*/**/*.py", "/usr/include/**/*.h", "/usr/share/doc/**/copyright", "/usr/share/perl*/**/*.p[lm]",
                    "/usr/share/common-licenses/*", "/usr/share/i18n/locales/*", "/usr/share/zoneinfo/*.tab", "/usr/share/**/*.xml"):
        files += glob.glob(pattern, recursive=True)
    generator.shuffle(files)
    texts, total = [], 0
    scripts = [(0x20, 0x7F), (0xA0, 0x250), (0x370, 0x530), (0x590, 0x700), (0x900, 0xE00), (0xE00, 0x1000), (0x1100, 0x1200), (0x2000, 0x2C00),
               (0x3040, 0x3100), (0x4E00, 0x9FA0), (0xAC00, 0xD7A4), (0xFB00, 0xFFFE), (0x1F300, 0x1FA00), (0x10000, 0x10FFFF), (0, 0x20), (0x300, 0x370)]
    special = ["<|endoftext|>", "<s>", "</s>", "<0x41>", "<mask>", " <mask> ", "word<mask>", "[UNK]", SPACE, "'s", "'LL", "  ", "\n\n", "\r\n", "\t", "123456"]
    while total < size:
        kind = generator.random()
        if kind < 0.7 and files:
            try:
                data = open(files.pop(), "rb").read(200000)
            except OSError:
                continue
            at = generator.randrange(max(1, len(data)))
            data = data[at:at + generator.choice([200, 2000, 20000, 100000])]
        else:
            parts = []
            for _ in range(generator.randrange(1, 200)):
                if generator.random() < 0.15:
                    parts.append(generator.choice(special))
                else:
                    low, high = generator.choice(scripts)
                    codes = (generator.randrange(low, high) for _ in range(generator.randrange(1, 12)))
                    parts.append("".join(chr(c) for c in codes if unicodedata.category(chr(c)) not in ("Cn", "Cs")))
                if generator.random() < 0.6:
                    parts.append(" ")
            data = "".join(parts).encode()
        if kind > 0.93:
            data = bytearray(data)
            for _ in range(max(1, len(data) // 40)):
                if data:
                    data[generator.randrange(len(data))] = generator.randrange(256)
            data = bytes(data)
        # Characters that only one side's version of Unicode knows are not what is compared.
        if data and not any(unicodedata.category(c) == "Cn" for c in data.decode("utf-8", "replace")):
            texts.append(data)
            total += len(data)
    return texts


def main():
    folder, size = sys.argv[1], int(float(sys.argv[2]) * 1e6)
    wanted = sys.argv[3:] or list(KINDS)
    generator = random.Random(11)
    texts = gather(size, generator)
    with open(f"{folder}/texts", "w") as out:
        out.writelines(base64.b64encode(text).decode() + "\n" for text in texts)
    strings = [text.decode("utf-8", "replace") for text in texts]
    training = strings[::max(1, size // 2_000_000)]
    md5 = lambda data: hashlib.md5(data).hexdigest()
    seconds = {}
    for kind in wanted:
        tokenizer = KINDS[kind](lambda made, trainer: made.train_from_iterator(training, trainer))
        tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, rstrip=kind in ("qwen2", "llama2"), special=True)])
        tokenizer.add_tokens([AddedToken("Zq", single_word=True, normalized=True), AddedToken("the_word", rstrip=True, normalized=False)])
        tokenizer.save(f"{folder}/{kind}.json")
        started = time.perf_counter()
        for text in strings:
            tokenizer.encode(text, add_special_tokens=False)
        seconds[kind] = time.perf_counter() - started
        with open(f"{folder}/{kind}.expected", "w") as out:
            for text in strings:
                with_special = tokenizer.encode(text).ids
                ids = tokenizer.encode(text, add_special_tokens=False).ids
                pack = lambda list: struct.pack(f"<{len(list)}i", *list)
                decoded = tokenizer.decode(ids, skip_special_tokens=True)
                out.write(f"{md5(pack(with_special))} {md5(pack(ids))} {md5(decoded.encode())}\n")
    print(json.dumps({"bytes": sum(map(len, texts)), "seconds": seconds}))


main()
