"""Token ids beside those of Hugging Face's `tokenizers`.

    check_tokenizers.py WORK_FOLDER [MEGABYTES]

For three pre-tokenizer patterns a byte-level BPE tokenizer is trained by `tokenizers`; `troika data encode` and `decode`
must give its ids and its text for every document. Then the other way: a tokenizer that Troika trained. Then tokenizers of
SentencePiece's kind over a tenth of the documents and a hundred thousand short strings each: those of a tokenizer.json beside
`tokenizers`, those of a tokenizer.model beside `sentencepiece`, and the tokenizer.json that `troika export` makes of it beside
`tokenizers`. TOKENIZERS, if set, is a folder of folders with a tokenizer.json each, which are compared too."""
import itertools
import json
import os
import pathlib
import random
import subprocess
import sys

import sentencepiece
import tokenizers
import transformers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

import corpus
import sentencepiece_kinds as kinds
import small_models
import support

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
PATTERNS = {"gpt2": None, "llama3": LLAMA3, "qwen2": QWEN2}
TRAINED_ON = 50  # every so-manieth document
VOCAB = 16384


def new_tokenizer(name):
    made = tokenizers.Tokenizer(models.BPE(ignore_merges=name == "llama3"))
    made.decoder = decoders.ByteLevel()
    if name == "qwen2":
        made.normalizer = normalizers.NFC()
    if PATTERNS[name] is None:
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    else:
        made.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(tokenizers.Regex(PATTERNS[name]), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    return made


def trained(name, texts):
    made = new_tokenizer(name)
    made.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=VOCAB, special_tokens=corpus.MARKS, show_progress=False,
                                                        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return made


def lines_of(words):
    """Troika's output, line by line, without holding all of it."""
    process = subprocess.Popen([str(support.TROIKA), *map(str, words)], stdout=subprocess.PIPE)
    yield from process.stdout
    if process.wait() != 0:
        raise RuntimeError(f"troika {' '.join(map(str, words))} ended with {process.returncode}")


def texts_in(path):
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)["text"]


def compare_ids(what, theirs, path, folder):
    """`theirs` is a tokenizer, or a function from text to ids."""
    encode = theirs if callable(theirs) else lambda text: theirs.encode(text, add_special_tokens=False).ids
    documents = ids = size = different = 0
    ours = lines_of(["data", "encode", path, "--tokenizer", folder, "--workers", 1])
    for text, line in itertools.zip_longest(texts_in(path), ours):
        expected = None if text is None else encode(text)
        got = None if line is None else json.loads(line)
        documents, ids = documents + 1, ids + len(expected or [])
        size += len((text or "").encode())
        if expected != got:
            different += 1
            if different < 4:
                show_difference(text, expected, got)
    support.report("tokenizers", f"{what}: ids", f"{documents} documents, {size / 1e6:.1f} MB, {ids} ids, "
                   f"{different} documents differ", different == 0)


def show_difference(text, expected, got):
    at = next((k for k, (a, b) in enumerate(zip(expected or [], got or [])) if a != b), 0)
    print(f"  at {at}: {(expected or [])[at:at + 6]} there, {(got or [])[at:at + 6]} here, of {(text or '')[:120]!r}", flush=True)


def compare_texts(what, theirs, path, folder, work, every):
    """Every so-manieth document, encoded there and decoded by both."""
    chosen = [theirs.encode(text, add_special_tokens=False).ids for text in itertools.islice(texts_in(path), 0, None, every)]
    compare_decoded(what, theirs, chosen, folder, work)


def compare_decoded(what, theirs, chosen, folder, work):
    (work / "ids.jsonl").write_text("".join(json.dumps(ids) + "\n" for ids in chosen))
    ours = [json.loads(line)["text"] for line in lines_of(["data", "decode", work / "ids.jsonl", "--tokenizer", folder, "--jsonl"])]
    expected = [theirs.decode(ids, skip_special_tokens=False) for ids in chosen]
    different = sum(a != b for a, b in itertools.zip_longest(ours, expected))
    support.report("tokenizers", f"{what}: decoded", f"{len(expected)} documents, {different} differ", different == 0)


def check_theirs(path, work):
    for name in PATTERNS:
        made = trained(name, itertools.islice(texts_in(path), 0, None, TRAINED_ON))
        folder = work / name
        folder.mkdir()
        made.save(str(folder / "tokenizer.json"))
        compare_ids(f"trained there, pattern of {name}", made, path, folder)
        compare_texts(f"trained there, pattern of {name}", made, path, folder, work, 17)


def check_ours(path, work):
    part, folder = work / "part.jsonl", work / "ours"
    with part.open("w", encoding="utf-8") as file:
        for text in itertools.islice(texts_in(path), 0, None, 11):
            file.write(json.dumps({"text": text}) + "\n")
    support.troika("data", "tokenizer", part, "--vocab", 8192, "--out", folder)
    compare_ids("trained here, read by tokenizers", tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")), part, folder)
    fast = transformers.AutoTokenizer.from_pretrained(folder)
    texts = list(itertools.islice(texts_in(part), 50))
    expected = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    different = sum(fast(text)["input_ids"] != expected.encode(text).ids for text in texts)
    support.report("tokenizers", "trained here, read by transformers", f"{len(texts)} documents, {different} differ", different == 0)


def random_ids(theirs, count):
    """Sequences of ids as a model may draw them: bytes that are no characters, spaces and marks anywhere."""
    draw, size = random.Random(5), theirs.get_vocab_size()
    names = theirs.get_vocab()
    likely = [names[name] for name in kinds.BYTES + kinds.MARKS + [kinds.SPACE, kinds.SPACE * 2] if name in names]
    for _ in range(count):
        yield [draw.choice(likely) if draw.random() < 0.6 else draw.randrange(size) for _ in range(draw.randint(1, 12))]


def compare_kind(what, theirs, folder, documents, strings, work):
    theirs.save(str(folder / "tokenizer.json"))
    for path in (documents, strings):
        compare_ids(f"{what}, {path.stem}", theirs, path, folder)
        compare_texts(f"{what}, {path.stem}", theirs, path, folder, work, 3)
    compare_decoded(f"{what}, random ids", theirs, list(random_ids(theirs, 30_000)), folder, work)


def check_equal_scores(name, folder, strings):
    other = folder / "equal scores"
    other.mkdir()
    model = kinds.with_equal_scores((folder / "tokenizer.model").read_bytes())
    (other / "tokenizer.model").write_bytes(model)
    compare_ids(f"tokenizer.model, {name}, equal scores", sentencepiece.SentencePieceProcessor(model_proto=model).encode, strings, other)


def check_sentencepiece_models(documents, strings, work):
    texts = list(itertools.islice(texts_in(documents), 0, None, 8))
    for name, options in kinds.TRAINED.items():
        folder = work / f"model, {name}"
        folder.mkdir()
        theirs = kinds.train_sentencepiece(texts, folder / "tokenizer.model", options)
        for path in (documents, strings):
            compare_ids(f"tokenizer.model, {name}, {path.stem}", theirs.encode, path, folder)
        check_equal_scores(name, folder, strings=strings)
        small_models.model_of(small_models.configs(vocab=4096)["llama"], 1).save_pretrained(folder)
        support.troika("export", folder, work / f"exported, {name}")
        made = tokenizers.Tokenizer.from_file(str(work / f"exported, {name}" / "tokenizer.json"))
        for path in (documents, strings):
            compare_ids(f"tokenizer.model, {name}, exported, {path.stem}", made, path, folder)
        compare_decoded(f"tokenizer.model, {name}, exported", made, list(random_ids(made, 30_000)), folder, work)


def check_kinds(path, work):
    documents = support.write_jsonl(work / "documents.jsonl", ({"text": text} for text in itertools.islice(texts_in(path), 0, None, 10)))
    strings = support.write_jsonl(work / "strings.jsonl", ({"text": text} for text in kinds.hard_strings(100_000, 1)))
    plain = support.write_jsonl(work / "plain strings.jsonl", ({"text": text} for text in kinds.hard_strings(100_000, 2, marks=False)))
    for name, theirs in kinds.tokenizers_by_name(list(itertools.islice(texts_in(path), 0, None, 200))):
        (work / name).mkdir()
        compare_kind(name, theirs, work / name, documents, strings, work)
    # sentencepiece takes the spelling of a control piece for text.
    unmarked = support.write_jsonl(work / "unmarked documents.jsonl", ({"text": text} for text in texts_in(documents) if not any(mark in text for mark in kinds.MARKS)))
    check_sentencepiece_models(unmarked, plain, work)
    given = os.environ.get("TOKENIZERS")
    for real in sorted(pathlib.Path(given).iterdir()) if given else []:
        (work / real.name).mkdir()
        compare_kind(real.name, tokenizers.Tokenizer.from_file(str(real / "tokenizer.json")), work / real.name, documents, strings, work)


def main():
    work = pathlib.Path(sys.argv[1])
    work.mkdir(exist_ok=True)
    megabytes = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    path = support.write_jsonl(work / "documents.jsonl", ({"text": text} for text in corpus.documents(megabytes * 1_000_000) if text))
    (work / "kinds").mkdir()
    check_kinds(path, work / "kinds")
    check_ours(path, work)
    check_theirs(path, work)
    support.finish()


if __name__ == "__main__":
    main()
