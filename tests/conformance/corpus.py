"""Text of the machine's own files, in many scripts: documents of at most CUT characters, the same ones each time."""
import gettext
import gzip
import pathlib
import random
import sys
import unicodedata

CUT = 100_000
MARKS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def text_of(path):
    """The text of a file, decompressed; nothing for what is no UTF-8 text."""
    try:
        content = path.read_bytes()
        return (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8")
    except (OSError, EOFError, ValueError):
        return ""


def catalogue(path):
    """The translated messages of a gettext catalogue."""
    try:
        with path.open("rb") as file:
            messages = gettext.GNUTranslations(file)._catalog.values()
    except (OSError, ValueError, UnicodeError, AttributeError):
        return ""
    return "\n".join(message for message in messages if isinstance(message, str))


def from_files(roots, read, wanted):
    """Documents from the files below `roots` in the order of their names' hashes, `wanted` bytes in all."""
    paths = [path for root in roots for path in sorted(pathlib.Path(root).rglob("*"))
             if path.is_file() and not path.is_symlink() and path.stat().st_size < 8 << 20]
    random.Random(1).shuffle(paths)
    size = 0
    for path in paths:
        if size >= wanted:
            return
        text = read(path)
        if "\0" in text:
            continue
        for at in range(0, len(text), CUT):
            yield text[at:at + CUT]
            size += len(text[at:at + CUT].encode())


def every_character(seed):
    """All assigned characters in random order, between letters and spaces."""
    draw = random.Random(seed)
    assigned = [chr(code) for code in range(1, sys.maxunicode + 1) if unicodedata.category(chr(code)) not in ("Cn", "Cs", "Co")]
    draw.shuffle(assigned)
    return "".join(character + draw.choice(["", "", "a", " ", "\n", "e\u0301", "7"]) for character in assigned)


def documents(size):
    """Documents of about `size` bytes in all: 7 of 10 parts text and headers, the rest messages in all languages."""
    yield from from_files(["/usr/share/doc", "/usr/include", "/usr/share/i18n"], text_of, size * 7 // 10)
    yield from from_files(["/usr/share/locale"], catalogue, size * 3 // 10)
    for seed in range(3):
        yield every_character(seed)
    yield "".join(mark + between for mark in MARKS for between in ("", " ", "x", "\n\n", "<|", "é")) * 20
