#!/usr/bin/env python3
"""A file system (FUSE) whose disk is not well: a folder served read-only and slowly, or one that answers nothing, or only errors.

  strange_disk.py MOUNT_POINT slow FOLDER SECONDS    the files of FOLDER; each reading of at most 128 KiB takes SECONDS
  strange_disk.py MOUNT_POINT silent                 who asks it waits for ever
  strange_disk.py MOUNT_POINT error NUMBER           every request ends with that errno

Needs root. Prints "ready" and serves until it is killed. The requests are those of <linux/fuse.h>.
"""
import ctypes
import errno
import os
import stat
import struct
import sys
import time

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR = (
    1, 2, 3, 14, 15, 17, 18, 25, 26, 27, 28, 29)
INTERRUPT, DESTROY, BATCH_FORGET = 36, 38, 42
SILENT = (FORGET, BATCH_FORGET, INTERRUPT)  # requests without an answer
VALID = 3600  # seconds that the kernel may remember names and attributes


def attributes(node, info):
    return struct.pack("<6Q10I", node, info.st_size, (info.st_size + 511) // 512, 0, 0, 0, 0, 0, 0, info.st_mode, 1, 0, 0, 0, 4096, 0)


class Disk:
    def __init__(self, device, mode, words):
        self.device, self.mode = device, mode
        self.folder = words[0] if mode == "slow" else None
        self.seconds = float(words[1]) if mode == "slow" else 0
        self.error = int(words[0]) if mode == "error" else 0
        self.names = sorted(os.listdir(self.folder)) if self.folder else []
        self.files = {}

    def info(self, node):
        return os.stat(self.folder or "/tmp") if node == 1 else os.stat(os.path.join(self.folder, self.names[node - 2]))

    def answer(self, unique, body=b"", error=0):
        os.write(self.device, struct.pack("<IiQ", 16 + len(body), -error, unique) + body)

    def serve(self):
        while True:
            message = os.read(self.device, 1 << 18)
            _, opcode, unique, node = struct.unpack_from("<IIQQ", message)
            if opcode in SILENT:
                continue
            if opcode == INIT:
                minor = struct.unpack_from("<I", message, 44)[0]
                self.answer(unique, struct.pack("<4IHHIIHHI", 7, min(minor, 31), 131072, 0, 16, 12, 131072, 1, 32, 0, 0).ljust(64, b"\0"))
            elif self.mode == "silent":
                if opcode == GETATTR and node == 1:
                    self.give_attributes(unique, node)
            elif self.mode == "error":
                self.answer(unique, error=self.error)
            else:
                self.serve_slowly(opcode, unique, node, message[40:])

    def give_attributes(self, unique, node):
        self.answer(unique, struct.pack("<QII", VALID, 0, 0) + attributes(node, self.info(node)))

    def serve_slowly(self, opcode, unique, node, body):
        if opcode == GETATTR:
            self.give_attributes(unique, node)
        elif opcode == LOOKUP:
            name = body.split(b"\0")[0].decode()
            if name not in self.names:
                return self.answer(unique, error=errno.ENOENT)
            found = self.names.index(name) + 2
            self.answer(unique, struct.pack("<4QII", found, 0, VALID, VALID, 0, 0) + attributes(found, self.info(found)))
        elif opcode in (OPEN, OPENDIR):
            self.answer(unique, struct.pack("<QII", 0, 2, 0))  # FOPEN_KEEP_CACHE
        elif opcode == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            time.sleep(self.seconds)
            if node not in self.files:
                self.files[node] = open(os.path.join(self.folder, self.names[node - 2]), "rb")
            self.answer(unique, os.pread(self.files[node].fileno(), size, offset))
        elif opcode == READDIR:
            _, offset, size = struct.unpack_from("<QQI", body)
            entries = b""
            for i, name in enumerate(self.names[offset:], offset):
                entry = struct.pack("<QQII", i + 2, i + 1, len(name.encode()), stat.S_IFREG >> 12) + name.encode()
                entry = entry.ljust((len(entry) + 7) // 8 * 8, b"\0")
                if len(entries) + len(entry) > size:
                    break
                entries += entry
            self.answer(unique, entries)
        elif opcode in (RELEASE, RELEASEDIR, FLUSH, DESTROY):
            self.answer(unique)
        elif opcode == STATFS:
            self.answer(unique, struct.pack("<5Q4I", 1 << 20, 0, 0, 1 << 20, 0, 4096, 255, 4096, 0).ljust(80, b"\0"))
        else:
            self.answer(unique, error=errno.ENOSYS)


def main():
    place, mode, *words = sys.argv[1:]
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
    if ctypes.CDLL(None, use_errno=True).mount(b"strange", place.encode(), b"fuse", 0, options) != 0:
        sys.exit(os.strerror(ctypes.get_errno()))
    print("ready", flush=True)
    try:
        Disk(device, mode, words).serve()
    except OSError as error:
        if error.errno != errno.ENODEV:  # it was unmounted
            raise


if __name__ == "__main__":
    main()
