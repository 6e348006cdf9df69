"""Reads the tokenized conversations that Troika caches (docs/formats/sequences.md)."""
import struct


def read(path):
    """Of every sequence its ids and, for each, whether it carries loss."""
    content = path.read_bytes()
    assert content[:8] == b"TRSEQUEN", path
    width, _, payload, count = struct.unpack("<4Q", content[16:48])
    ends = struct.unpack(f"<{count}Q", content[128 + payload - 8 * count:128 + payload])
    sequences, at = [], 128
    for end in ends:
        sequences.append(split(content[at:128 + end], width))
        at = 128 + end
    return sequences


def split(content, width):
    """L ids of `width` bytes and (L + 7) / 8 bytes of bits."""
    length = next(n for n in range(len(content) * 8 // (8 * width + 1) + 1, -1, -1) if n * width + (n + 7) // 8 == len(content))
    ids = struct.unpack(f"<{length}{'H' if width == 2 else 'I'}", content[:length * width])
    bits = content[length * width:]
    return list(ids), [bool(bits[i // 8] >> i % 8 & 1) for i in range(length)]
