// The step programs of a run, built or read, and checked before anything runs.
#pragma once

#include <cstdint>
#include <string>

#include "plan/job.h"
#include "plan/stages.h"
#include "schedule/build/builder.h"
#include "schedule/instruction/program.h"

namespace troika::plan {

struct Programs {
  schedule::Program step;        // of a training step, or of a round of an evaluation where nothing is trained
  schedule::Program evaluation;  // beside training: of data.valid; without grid ranks where there is none
};

// By the settings' schedule. ConfigError for what it does not allow or has no numbers for.
schedule::Program build_step(const Job& job, const schedule::StepShape& shape);

// The same without the check, which takes longer than building: for one of many that are compared.
schedule::Program build_step_unchecked(const Job& job, const schedule::StepShape& shape);

// A program from a file, with the bytes that its instructions move in this run. DataError naming the file when it is not
// sound.
schedule::Program complete_step(const Job& job, const schedule::StepShape& shape, schedule::Program written);

// One round over data.valid, of at most `most_per_rank` microbatches for each data-parallel rank.
schedule::Program build_evaluation(const Job& job, const schedule::StepShape& shape, std::int64_t most_per_rank);

// The input of the builder of step programs. Bytes are those of the rank that sends most.
schedule::StepShape step_shape(const Job& job, const Stages& stages);

// The shape of the first data-parallel rank's pipeline alone, with its share of the microbatches and all replicas to
// exchange with, whose shares are equal. Bytes are those of its first rank: in a large world the same to some chunks,
// at a fraction of the work.
schedule::StepShape pipeline_shape(const Job& job, const Stages& stages);

// The program that the user wrote into a file (docs/formats/program.md), its instructions without bytes. DataError naming the file when it cannot be read as a program
// or is for another run than the job; whether it is sound, check() says.
schedule::Program read_program(const Job& job, const std::string& path);

}  // namespace troika::plan
