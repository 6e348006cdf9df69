// A step program that the user wrote (docs/formats/program.md).
#pragma once

#include <string>

#include "schedule/builder.h"
#include "train/plan.h"

namespace troika::train {

// The program in the file, its instructions without bytes. DataError naming the file when it cannot be read as a program
// or is for another run than the plan's; whether it is sound, check() says. Needs resolved and shape of the plan.
schedule::Program read_program(const Plan& plan, const std::string& path);

// A file gives order and stages; what its instructions move follows from the run.
void set_bytes(const schedule::StepShape& shape, schedule::Program* program);

}  // namespace troika::train
