#!/usr/bin/env python3
"""Makes a wheel of an installed Troika: the program itself in the environment's bin, pages, completions and documents in its share; and
one of the name troika-train-cuda that has nothing but what it depends on: this one, and NVIDIA's libraries that a run on GPUs loads.

    tools/wheel.py PREFIX VERSION PLATFORM OUT

SOURCE_DATE_EPOCH: the date of every file. Nothing in it is Python's, so one wheel serves every version of it.
"""
import base64
import hashlib
import os
import sys
import time
import zipfile
from pathlib import Path

prefix, version, platform, out = Path(sys.argv[1]), sys.argv[2], sys.argv[3], Path(sys.argv[4])
name = f"troika_train-{version}"
licences = sorted((prefix / "share/doc/troika/licenses").iterdir())

files = {}  # name in the archive: (bytes, whether a program)
for path in sorted(prefix.rglob("*")):
    if path.is_file():
        inside = path.relative_to(prefix)
        place = "scripts/troika" if inside == Path("bin/troika") else f"data/{inside}"
        files[f"{name}.data/{place}"] = (path.read_bytes(), place == "scripts/troika")
for path in licences:
    files[f"{name}.dist-info/licenses/{path.name}"] = (path.read_bytes(), False)
files[f"{name}.dist-info/METADATA"] = (
    "\n".join(
        [
            "Metadata-Version: 2.4",
            "Name: troika-train",
            f"Version: {version}",
            "Summary: Trains language models on the machines you have",
            "License-Expression: Apache-2.0",
            *(f"License-File: {path.name}" for path in licences),
            "Classifier: Environment :: Console",
            "Classifier: Operating System :: POSIX :: Linux",
            "Description-Content-Type: text/markdown",
            "",
            (prefix / "share/doc/troika/README.md").read_text(encoding="utf-8"),
        ]
    ).encode(),
    False,
)


def write_wheel(name, files, platform, path):
    files[f"{name}.dist-info/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: troika\nRoot-Is-Purelib: {str(platform == 'any').lower()}\nTag: py3-none-{platform}\n".encode(),
        False,
    )
    rows = []
    for inside, (content, _) in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.append(f"{inside},sha256={digest},{len(content)}\n")
    files[f"{name}.dist-info/RECORD"] = ("".join(rows + [f"{name}.dist-info/RECORD,,\n"]).encode(), False)
    date = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
    with zipfile.ZipFile(path / f"{name}-py3-none-{platform}.whl", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for inside, (content, program) in files.items():
            entry = zipfile.ZipInfo(inside, date)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if program else 0o100644) << 16
            wheel.writestr(entry, content)


write_wheel(name, files, platform, out)

# CUDA 12's libraries serve drivers from 525 on, those of CUDA 13 as well.
metadata = f"""Metadata-Version: 2.4
Name: troika-train-cuda
Version: {version}
Summary: Troika with NVIDIA's libraries for training on GPUs
License-Expression: Apache-2.0
Requires-Dist: troika-train=={version}
Requires-Dist: nvidia-cublas-cu12>=12.4
Requires-Dist: nvidia-cudnn-cu12>=9.10.2
Requires-Dist: nvidia-nccl-cu12>=2.28
"""
cuda_name = f"troika_train_cuda-{version}"
write_wheel(cuda_name, {f"{cuda_name}.dist-info/METADATA": (metadata.encode(), False)}, "any", out)
