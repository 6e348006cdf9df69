// A step program that the user wrote (docs/formats/program.md).
#pragma once

#include <string>

#include "plan/job.h"
#include "schedule/instruction/program.h"

namespace troika::plan {

// The program in the file, its instructions without bytes. DataError naming the file when it cannot be read as a program
// or is for another run than the job; whether it is sound, check() says.
schedule::Program read_program(const Job& job, const std::string& path);

}  // namespace troika::plan
