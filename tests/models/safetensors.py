"""The safetensors format by hand: 8 bytes of header length, a JSON header, the tensors' bytes."""
import json
import pathlib
import struct

import torch

NAMES = {torch.float32: "F32", torch.bfloat16: "BF16", torch.float16: "F16", torch.uint8: "U8", torch.int64: "I64"}
DTYPES = {name: dtype for dtype, name in NAMES.items()}


def raw(tensor):
    """A tensor's bytes in row-major order."""
    return bytes(tensor.detach().contiguous().flatten().view(torch.uint8).numpy()) if tensor.numel() else b""


def write(path, tensors):
    header, data, at = {"__metadata__": {"format": "pt"}}, [], 0
    for name, tensor in tensors.items():
        data.append(raw(tensor))
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [at, at + len(data[-1])]}
        at += len(data[-1])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data))


def read(path):
    """Returns ({name: tensor}, metadata)."""
    content = pathlib.Path(path).read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        flat = torch.frombuffer(bytearray(content[begin:end]), dtype=torch.uint8) if end > begin else torch.empty(0)
        tensors[name] = flat.view(DTYPES[entry["dtype"]]).view(entry["shape"])
    return tensors, metadata


def read_folder(folder):
    """All tensors of a model folder, and the file that each stands in."""
    tensors, places = {}, {}
    for path in sorted(pathlib.Path(folder).glob("*.safetensors")):
        for name, tensor in read(path)[0].items():
            assert name not in tensors, f"{name} stands in two files of {folder}"
            tensors[name], places[name] = tensor, path.name
    return tensors, places
