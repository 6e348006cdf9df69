#include "base/cause.h"

#include <array>
#include <cerrno>

namespace troika::base {
namespace {

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

}  // namespace troika::base
