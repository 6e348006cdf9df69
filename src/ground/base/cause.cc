#include "base/cause.h"

#include <sys/resource.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "base/say.h"
#include "base/units.h"

namespace troika::base {
namespace {

// The usual causes by their errno; in the English of glibc.
struct SystemCause {
  int code;
  Phrase text;
};

constexpr SystemCause system_causes[] = {
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
constexpr Phrase beyond_file_limit = Phrase("files here may have at most {} (ulimit -f): raise that limit, or remove it with `ulimit -f unlimited`");

// In the order of the enum.
constexpr std::array<std::string_view, 31> cause_words = {"",
                                                          "out_of_memory",
                                                          "device_out_of_memory",
                                                          "job_memory_limit",
                                                          "plan_exceeds_memory",
                                                          "unreadable_file",
                                                          "disk_full",
                                                          "too_many_open_files",
                                                          "file_system_failed",
                                                          "no_training_tokens",
                                                          "port_in_use",
                                                          "wrong_secret",
                                                          "duplicate_rank",
                                                          "flags_differ",
                                                          "builds_differ",
                                                          "data_differ",
                                                          "folder_in_use",
                                                          "name_unknown",
                                                          "wrong_address",
                                                          "firewall",
                                                          "group_not_connected",
                                                          "rank_missing",
                                                          "host_missing",
                                                          "no_answer",
                                                          "nothing_at_address",
                                                          "infiniband",
                                                          "connection_broke",
                                                          "store_silent",
                                                          "fp16_overflow",
                                                          "not_finite",
                                                          "changed_bits"};
static_assert(cause_words.size() == static_cast<std::size_t>(Cause::changed_bits) + 1);

}  // namespace

std::string_view word_of(Cause cause) { return cause_words[static_cast<std::size_t>(cause)]; }

Cause cause_of_word(std::string_view word) {
  for (std::size_t i = 1; i < cause_words.size(); ++i)
    if (cause_words[i] == word) return static_cast<Cause>(i);
  return Cause::not_told;
}

Cause cause_of_errno(int code) {
  switch (code) {
    case ENOMEM:
      return Cause::out_of_memory;
    case ENOSPC:
    case EDQUOT:
      return Cause::disk_full;
    case EMFILE:
    case ENFILE:
      return Cause::too_many_open_files;
    case ESTALE:
    case EIO:
    case ENOTCONN:
    case EROFS:
    case EREMOTEIO:
      return Cause::file_system_failed;
    case EADDRINUSE:
      return Cause::port_in_use;
    case ENETUNREACH:
      return Cause::wrong_address;
    case EHOSTUNREACH:
      return Cause::firewall;
    case ECONNRESET:
    case ETIMEDOUT:
      return Cause::connection_broke;
    default:
      return Cause::not_told;
  }
}

// The usual limit of batch systems (ulimit -f), below which a disk may have room.
static std::int64_t most_file_bytes() {
  rlimit limit{};
  const bool is_limited = ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return is_limited ? static_cast<std::int64_t>(limit.rlim_cur) : -1;
}

Text system_cause(int code) {
  if (const std::int64_t most = most_file_bytes(); code == EFBIG && most >= 0)
    return say(beyond_file_limit, format_bytes(most));
  for (const SystemCause& cause : system_causes)
    if (cause.code == code) return say(cause.text);
  return verbatim(std::strerror(code));
}

}  // namespace troika::base
