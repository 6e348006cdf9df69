"""Tokenizers of SentencePiece's kind, trained by `tokenizers` and by `sentencepiece`, and strings that are hard for them."""
import io
import json
import random
import unicodedata

import sentencepiece
import tokenizers
from sentencepiece import sentencepiece_model_pb2
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

SPACE = "\u2581"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
MARKS = ["<unk>", "<s>", "</s>"]
LEGACY = normalizers.Sequence([normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)])
TEXT = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
STRIPPED = decoders.Sequence([*TEXT, decoders.Strip(" ", 1, 0)])
GEMMA = (normalizers.Replace(" ", SPACE), pre_tokenizers.Split(" ", "merged_with_previous"), decoders.Sequence(TEXT))


def metaspace(scheme, split=False):
    return (None, pre_tokenizers.Metaspace(SPACE, scheme, split), STRIPPED)


# By name: normalizer, pre-tokenizer, decoder.
PARTS = {
    "llama, legacy": (LEGACY, None, STRIPPED),
    "metaspace first": metaspace("first"),
    "metaspace always": metaspace("always"),
    "metaspace never": metaspace("never"),
    "metaspace always, split": (None, pre_tokenizers.Metaspace(SPACE, "always", True), decoders.Metaspace(SPACE, "always")),
    "gemma": GEMMA,
    "forms and cuts": (
        normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase(), normalizers.Strip(),
                              normalizers.Replace(tokenizers.Regex("[0-9]+"), "0")]),
        pre_tokenizers.Sequence([pre_tokenizers.Split("-", "contiguous"), pre_tokenizers.Split(":", "merged_with_next"),
                                 pre_tokenizers.Split(tokenizers.Regex("[a-f]+"), "removed"), pre_tokenizers.Punctuation(),
                                 pre_tokenizers.Digits(True), pre_tokenizers.Metaspace(SPACE, "always", True)]),
        STRIPPED),
    "words": (normalizers.NFD(), pre_tokenizers.Whitespace(), decoders.Sequence(TEXT)),
}


def trained(texts, vocab, byte_fallback=True, fuse=True):
    """A model of characters as JSON, trained on words."""
    made = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=byte_fallback, fuse_unk=fuse))
    made.pre_tokenizer = pre_tokenizers.Metaspace(SPACE, "always", True)
    marks = MARKS + (BYTES if byte_fallback else [])
    made.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=vocab, special_tokens=marks, show_progress=False,
                                                        limit_alphabet=600))
    state = json.loads(made.to_str())
    state["added_tokens"] = [token for token in state["added_tokens"] if token["content"] in MARKS]
    return state


def tokenizers_by_name(texts):
    """A tokenizer for each kind of parts; the last ones without bytes, with and without a token for each character they lack."""
    state = trained(texts, 6000)
    for name, (normalizer, pre_tokenizer, decoder) in PARTS.items():
        yield name, assembled(state, normalizer, pre_tokenizer, decoder)
    for fuse in (False, True):
        yield f"unknown tokens, fuse_unk {fuse}", assembled(trained(texts, 3000, False, fuse), *PARTS["llama, legacy"])


def assembled(state, normalizer, pre_tokenizer, decoder):
    made = tokenizers.Tokenizer.from_str(json.dumps(state))
    if normalizer is not None:
        made.normalizer = normalizer
    made.pre_tokenizer = pre_tokenizer
    made.decoder = decoder
    plain = [("<|im_start|>", {}), ("[INST]", {"normalized": False}), ("<r>", {"normalized": False, "rstrip": True}),
             ("<l>", {"normalized": False, "lstrip": True}), ("word", {"single_word": True, "normalized": False}), ("Ünor", {"normalized": True})]
    made.add_tokens([tokenizers.AddedToken(content, **flags) for content, flags in plain])
    return made


# What sentencepiece trains, by name; the ids of tokenizer.model are its own.
TRAINED = {
    "llama": dict(byte_fallback=True, remove_extra_whitespaces=False, split_digits=True, allow_whitespace_only_pieces=True),
    "gemma": dict(byte_fallback=True, remove_extra_whitespaces=False, add_dummy_prefix=False, allow_whitespace_only_pieces=True,
                  user_defined_symbols=[SPACE * 2, SPACE * 3, "\n", "\n\n", "<table>", "<start_of_turn>"]),
    "extra spaces removed": dict(byte_fallback=True),
    "no bytes": dict(byte_fallback=False, remove_extra_whitespaces=False),
}


SIZE = dict(vocab_size=4000, character_coverage=0.995)


def train_sentencepiece(texts, path, options):
    lines, model = (line for text in texts for line in text.split("\n")), io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=lines, model_writer=model, model_type="bpe", max_sentence_length=100_000,
        normalization_rule_name="identity", minloglevel=2, **{**SIZE, **options})
    path.write_bytes(model.getvalue())
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def with_equal_scores(model):
    """Two of five merged pieces get the score 0, as pieces that are added to a model have."""
    draw, message = random.Random(1), sentencepiece_model_pb2.ModelProto.FromString(model)
    for piece in message.pieces:
        if piece.type == piece.NORMAL and len(piece.piece) > 1 and draw.random() < 0.4:
            piece.score = 0
    return message.SerializeToString()


def hard_strings(count, seed, marks=True):
    """Short strings: spaces in every number, their spelling, added tokens, scripts beside each other, runs of one character."""
    draw = random.Random(seed)
    pieces = [" ", " ", " ", "  ", "   ", SPACE, SPACE * 2, "\n", "\n\n", "\t", "\r\n", "\u00a0", "\u3000", "a", "b", "e", "the", "The",
              "return", "word", "words", "aaaa", "----", "-", ":", ".", ",", "(", "0", "7", "12345", "\u00e9", "e\u0301", "\u0301", "\u00fc", "Ünor",
              "\u4f60\u597d", "\u4e16", "\u0436", "\u0416\u0443", "\u05d0", "\u0627\u0644", "\u0e01\u0e33", "\uac00", "\u1112\u1161\u11ab", "\ufb01", "\u2460", "\u0130", "\u03a3", "\U0001f600", "\U0001f468\u200d\U0001f469", "\u200d", "\ufeff",
              "\u0000", "\u007f", "<0x0A>", "<0x41>", "<0x", "x", "'s", "don't", "ab" * 9, SPACE + "the", "\U0001F1E9", "\u0915\u094d\u0937"]
    special = ["<s>", "</s>", "<unk>", "<|im_start|>", "[INST]", "<r>", "<l>"]
    # Those of Unicode 3.2: later ones have other properties in other programs.
    any_of = [chr(code) for code in range(1, 0x20000) if unicodedata.ucd_3_2_0.category(chr(code)) not in ("Cn", "Cs")]
    for _ in range(count):
        chosen = draw.choices(pieces + special if marks else pieces, k=draw.randint(1, 14))
        yield "".join(piece if draw.random() < 0.95 else draw.choice(any_of) for piece in chosen)
