// The cause of a failure, as a value: an error carries it from where it is thrown to the code that advises (base::Error::cause,
// records::Incident).
#pragma once

#include <string_view>

#include "base/language.h"

namespace troika::base {

enum class Cause : int {
  not_told,
  // memory
  out_of_memory,
  device_out_of_memory,
  job_memory_limit,     // of a batch system
  plan_exceeds_memory,  // refused before it was needed
  // files
  unreadable_file,  // a mapped file was cut, or its disk cannot read it
  disk_full,
  too_many_open_files,
  file_system_failed,
  no_training_tokens,
  // meeting
  port_in_use,
  wrong_secret,
  duplicate_rank,
  flags_differ,
  builds_differ,
  data_differ,
  folder_in_use,
  name_unknown,
  wrong_address,
  firewall,
  group_not_connected,
  rank_missing,
  host_missing,        // which would come to a port of this host
  no_answer,           // not even a refusal
  nothing_at_address,  // no host has it
  infiniband,
  connection_broke,
  store_silent,
  // numbers
  fp16_overflow,
  not_finite,
  changed_bits,
};

// Its name in records: "disk_full"; "" of not_told.
std::string_view word_of(Cause cause);
Cause cause_of_word(std::string_view word);  // not_told where this version knows no such word

// The cause for an errno that is unambiguous: disk_full for ENOSPC; not_told for any other.
Cause cause_of_errno(int code);

// Why a call of the system failed: the text of an errno: "No such file or directory". Chinese if the table has it, else the system's text.
Text system_cause(int code);

}  // namespace troika::base
