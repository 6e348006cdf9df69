#include "plan/schedule_file.h"

#include <set>

#include "base/error.h"
#include "base/run_files.h"
#include "base/say.h"
#include "schedule/check/well_formed.h"
#include "schedule/instruction/placement.h"
#include "shape/layout.h"

namespace troika::plan {
namespace {

void refuse_unlike(const std::string& path, base::Phrase what, std::int64_t theirs, std::int64_t ours) {
  if (theirs == ours) return;
  throw base::DataError(base::say("the schedule file '{}' is for {} {}, but this run has {}", path, base::say(what), theirs, ours));
}

void refuse_unfetched(const std::string& path, const schedule::Program& program) {
  for (std::size_t grid_rank = 0; grid_rank < program.ranks.size(); ++grid_rank) {
    std::set<int> fetched;
    for (const schedule::Instruction& i : program.ranks[grid_rank]) {
      if (i.kind == schedule::Kind::fetch) fetched.insert(i.segment);
    }
    for (const int stage : schedule::stages_of_rank(program, static_cast<int>(grid_rank))) {
      for (int g = program.first_segment(stage); g < program.end_segment(stage); ++g) {
        if (fetched.count(g) > 0) continue;
        throw base::DataError(base::say("the schedule file '{}': grid rank {} does not fetch the optimizer state of segment {}, but this run offloads it; put fetch and offload around every step of a segment, or leave --offload out", path, grid_rank, g));
      }
    }
  }
}

}  // namespace

schedule::Program read_program(const Job& job, const std::string& path) {
  schedule::Program program;
  try {
    program = schedule::parse_program(base::read_regular_file(path, base::most_program_bytes));
    schedule::check_fields(program);
  } catch (const base::ConfigError& error) {
    throw base::DataError(base::say("the schedule file '{}': {}", path, base::text_of(error)));
  } catch (const base::BugError& error) {
    throw base::DataError(base::say("the schedule file '{}': {}", path, base::text_of(error)));
  }
  if (program.evaluates()) {
    throw base::DataError(base::say("the schedule file '{}' is the program of an evaluation; give that of a training step", path));
  }
  const int segments = shape::segment_count(job.model());
  refuse_unlike(path, base::Phrase("pp"), program.pp, job.shape.pp);
  refuse_unlike(path, base::Phrase("dp"), program.dp, job.shape.dp);
  refuse_unlike(path, base::Phrase("dp x cp"), program.replicas, job.replicas());
  refuse_unlike(path, base::Phrase("ZeRO stage"), program.zero, job.settings().parallel.zero);
  refuse_unlike(path, base::Phrase("microbatches"), program.microbatches, job.resolved.batch.microbatches);
  for (int dp_rank = 0; dp_rank < program.dp; ++dp_rank) {
    const std::int64_t share = job.sum_shape({}).shares.at(static_cast<std::size_t>(dp_rank));
    refuse_unlike(path, base::Phrase("microbatches of a data-parallel rank"), program.share_size(dp_rank), share);
  }
  refuse_unlike(path, base::Phrase("segments"), program.segments(), segments);
  const int first_trained = shape::first_trained_segment(job.model(), job.trained);
  refuse_unlike(path, base::Phrase("first trained segment"), program.first_trained, first_trained);
  refuse_unlike(path, base::Phrase("tied embeddings"), program.tied ? 1 : 0, job.tied() ? 1 : 0);
  refuse_unlike(path, base::Phrase("documents apart (all_load)"), program.all_load ? 1 : 0, job.documents_apart() ? 1 : 0);
  if (job.settings().parallel.offload != config::Offload::none) refuse_unfetched(path, program);
  return program;
}

}  // namespace troika::plan
