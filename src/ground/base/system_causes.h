// The usual causes by their errno; in the English of glibc.
#pragma once

#include <cerrno>

#include "base/language.h"

namespace troika::base {

struct SystemCause {
  int code;
  Phrase text;
};

inline constexpr SystemCause system_causes[] = {
    {EPERM, Phrase("Operation not permitted")},
    {ENOENT, Phrase("No such file or directory")},
    {EINTR, Phrase("Interrupted system call")},
    {EIO, Phrase("Input/output error")},
    {ENXIO, Phrase("No such device or address")},
    {E2BIG, Phrase("Argument list too long")},
    {ENOEXEC, Phrase("Exec format error")},
    {EBADF, Phrase("Bad file descriptor")},
    {EAGAIN, Phrase("Resource temporarily unavailable")},
    {ENOMEM, Phrase("Cannot allocate memory")},
    {EACCES, Phrase("Permission denied")},
    {EBUSY, Phrase("Device or resource busy")},
    {EEXIST, Phrase("File exists")},
    {EXDEV, Phrase("Invalid cross-device link")},
    {ENODEV, Phrase("No such device")},
    {ENOTDIR, Phrase("Not a directory")},
    {EISDIR, Phrase("Is a directory")},
    {EINVAL, Phrase("Invalid argument")},
    {ENFILE, Phrase("Too many open files in system")},
    {EMFILE, Phrase("Too many open files")},
    {ETXTBSY, Phrase("Text file busy")},
    {EFBIG, Phrase("File too large")},
    {ENOSPC, Phrase("No space left on device")},
    {EROFS, Phrase("Read-only file system")},
    {EPIPE, Phrase("Broken pipe")},
    {ENAMETOOLONG, Phrase("File name too long")},
    {ENOLCK, Phrase("No locks available")},
    {ENOTEMPTY, Phrase("Directory not empty")},
    {ELOOP, Phrase("Too many levels of symbolic links")},
    {EADDRINUSE, Phrase("Address already in use")},
    {EADDRNOTAVAIL, Phrase("Cannot assign requested address")},
    {ECONNREFUSED, Phrase("Connection refused")},
    {ECONNRESET, Phrase("Connection reset by peer")},
    {ETIMEDOUT, Phrase("Connection timed out")},
    {ESTALE, Phrase("Stale file handle")},
    {EDQUOT, Phrase("Disk quota exceeded")},
    {EOPNOTSUPP, Phrase("Operation not supported")},
};

// EFBIG where a limit of this process is the reason.
inline constexpr Phrase beyond_file_limit = Phrase("a file may have at most {} here (ulimit -f): raise that limit, or remove it with `ulimit -f unlimited`");

}  // namespace troika::base
