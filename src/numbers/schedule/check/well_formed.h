// Whether the numbers of a program fit together; asked by whoever builds, reads, checks or times one.
#pragma once

#include <string>

#include "schedule/instruction/program.h"

namespace troika::schedule {

// What is wrong with everything but the ranks, as a sentence with the numbers; empty when nothing is.
std::string wrong_sizes(const Program& program);

// BugError when sizes are wrong, ranks are too many or too few, or an instruction lacks a field, has one too many, or
// names a microbatch, stage or segment that its rank does not have.
void check_fields(const Program& program);

}  // namespace troika::schedule
