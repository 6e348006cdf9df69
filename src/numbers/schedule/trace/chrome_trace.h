// The merged trace of a step as a file that Perfetto and chrome://tracing open.
//
// Merged file, timeline_batch<step>_all.json: the trace event format ("Trace Event Format", Google): ph X, pid = rank,
//   ts and dur in microseconds, tid = 32 * world_rank for compute and wait, +1 and up for transfers (as many rows as
//   overlap), args with the instruction's text; otherData holds step, ranks, ranks and hosts, so that it reads back.
#pragma once

#include <string>
#include <string_view>

#include "schedule/trace/trace.h"

namespace troika::schedule {

std::string write_chrome(const StepTrace& trace);
// Reads what write_chrome wrote (times to a nanosecond). DataError for anything else.
StepTrace read_chrome(std::string_view text, const std::string& origin);

}  // namespace troika::schedule
