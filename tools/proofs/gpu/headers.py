#!/usr/bin/env python3
"""Fetches the C headers of NVIDIA's packages from the Python registry, and nothing else of them.

    headers.py FOLDER PACKAGE==VERSION...

A wheel is an archive whose list of files stands at its end: parts of it are read over HTTP, so that a package of 500 MB costs a few.
"""

import io
import os
import re
import subprocess
import sys
import urllib.parse
import urllib.request
import zipfile


class Remote(io.RawIOBase):
    def __init__(self, url):
        self.url, self.place = url, 0
        request = urllib.request.Request(url, method="HEAD")
        self.size = int(urllib.request.urlopen(request).headers["Content-Length"])

    def seekable(self):
        return True

    def readable(self):
        return True

    def tell(self):
        return self.place

    def seek(self, offset, whence=io.SEEK_SET):
        self.place = {io.SEEK_SET: 0, io.SEEK_CUR: self.place, io.SEEK_END: self.size}[whence] + offset
        return self.place

    def readinto(self, buffer):
        end = min(self.size, self.place + len(buffer)) - 1
        if end < self.place:
            return 0
        request = urllib.request.Request(self.url, headers={"Range": f"bytes={self.place}-{end}"})
        data = urllib.request.urlopen(request).read()
        buffer[: len(data)] = data
        self.place += len(data)
        return len(data)


def index():
    told = subprocess.run(["pip", "config", "get", "global.index-url"], capture_output=True, text=True).stdout.strip()
    return os.environ.get("PIP_INDEX_URL") or told or "https://pypi.org/simple"


def wheel_of(package, version):
    page = f"{index().rstrip('/')}/{package}/"
    links = re.findall(r'href="([^"]+)"', urllib.request.urlopen(page).read().decode())
    for link in links:
        path = link.split("#")[0]
        if path.endswith(".whl") and f"-{version}-" in path and "x86_64" in path:
            return urllib.parse.urljoin(page, path)
    sys.exit(f"headers: the registry has no {package} {version} for x86_64")


for wanted in sys.argv[2:]:
    package, version = wanted.split("==")
    folder = os.path.join(sys.argv[1], f"{package}-{version}")
    if os.path.isdir(folder):
        continue
    archive = zipfile.ZipFile(io.BufferedReader(Remote(wheel_of(package, version)), 1 << 20))
    names = [name for name in archive.namelist() if name.endswith((".h", ".hpp")) or "/nv/" in name]
    archive.extractall(folder + ".part", names)
    os.rename(folder + ".part", folder)
    print(f"{package} {version}: {len(names)} headers")
