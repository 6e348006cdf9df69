// What a probe found, for people.
#pragma once

#include <string>

#include "base/language.h"
#include "probe/measure_host.h"

namespace troika::probe {

std::string to_table(const machine::Cluster& cluster, base::Language language);
// How far the rates are from what was timed, a line for each kind.
std::string describe_fit(const MeasuredHost& measured, base::Language language);

// A row for each kernel: what was timed, and what the rates predict.
std::string to_csv(const MeasuredHost& measured);

}  // namespace troika::probe
