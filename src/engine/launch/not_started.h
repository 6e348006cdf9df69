// A launcher whose settings or files are refused before it meets the others: they hear why, instead of waiting for it.
#pragma once

#include <string>

#include "base/error.h"
#include "launch/host_flags.h"
#include "rendezvous/failure_report.h"

namespace troika::launch {

// Below the launch: why host 0 has not started; and, below each number of a host, that its launcher has heard it, or why that one has
// not started.
inline constexpr const char* not_started_key = "not-started";
inline constexpr const char* heard_it_key = "heard-not-started";
inline constexpr const char* refused_host_key = "refused-host";

// One host: nothing. Host 0 serves a store until all others have heard it, 10 s at most; another host tells host 0 where it is there.
// Never throws.
void tell_not_started(const HostOptions& hosts, const base::Error& error);

// Throws it as an error of its kind.
[[noreturn]] void throw_not_started(const rendezvous::FailureReport& of_host_0);

}  // namespace troika::launch
