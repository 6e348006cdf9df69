"""Writes src/engine/tokenizer/golden: a small vocabulary with the parts of each kind of tokenizer, models of SentencePiece, and
for both the ids and the texts that `tokenizers` and `sentencepiece` gave for some strings.

    make_tokenizer_goldens.py FOLDER"""
import itertools
import json
import pathlib
import shutil
import sys

import tokenizers

import corpus
import sentencepiece_kinds as kinds

TEXTS = ["Hello world", " Hello", "  two  spaces ", "▁already", "a\nb\n\nc\td", "return 12345; // the end", "Ünor und Übung",
         "\u4f60\u597d, \u4e16\u754c!", "\U0001f600\u200d\u00e9e\u0301", "<s>The<|im_start|> word</s> words", "x<r>  y  <l>z[INST] w [INST]v",
         "<0x0A>", "aaaaaaa", "a-b--c: d", "\ufb01\u2460\u0130\u03a3", "the\u00a0end\u3000", "\u0001\u007f", " ", "▁", "\n"]


def case(made, text):
    ids = made.encode(text, add_special_tokens=False).ids
    return {"text": text, "ids": ids, "decoded": made.decode(ids, skip_special_tokens=False)}


def decoding(made, ids):
    return {"ids": ids, "decoded": made.decode(ids, skip_special_tokens=False)}


def write(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


def write_kinds(out, texts):
    state = kinds.trained(texts, 700)
    plain = None
    cases = {}
    for name, parts in kinds.PARTS.items():
        made = kinds.assembled(state, *parts)
        whole = json.loads(made.to_str())
        plain = plain or {key: whole[key] for key in ("version", "added_tokens", "model")}
        names = made.get_vocab()
        odd = [[names["<0xE4>"], names["<0xBD>"], names["<0xA0>"], names["<0xFF>"]], [names["<0xE4>"], names["<0xBD>"], names["<0xA0>"], names["▁"], names["</s>"]],
               [names["▁"], names["▁"], names["<0x20>"], names["<0xC3>"]]]
        cases[name] = {"parts": {key: whole[key] for key in ("normalizer", "pre_tokenizer", "decoder")},
                       "cases": [case(made, text) for text in TEXTS], "decodings": [decoding(made, ids) for ids in odd]}
    write(out / "vocabulary.json", plain)
    write(out / "kinds.json", cases)


def write_models(out, texts):
    cases = {}
    for name in ("llama", "gemma"):
        options = {**kinds.TRAINED[name], "vocab_size": 500, "character_coverage": 0.98}
        theirs = kinds.train_sentencepiece(texts, out / f"{name}.model", options)
        cases[name] = [{"text": text, "ids": theirs.encode(text)} for text in TEXTS if "<" not in text]
    write(out / "models.json", cases)


def main():
    out = pathlib.Path(sys.argv[1])
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    texts = list(itertools.islice(corpus.documents(4_000_000), 0, 40, 2))
    write_kinds(out, texts)
    write_models(out, texts)


if __name__ == "__main__":
    main()
