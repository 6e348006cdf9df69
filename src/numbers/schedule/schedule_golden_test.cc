// Programs and grids as text files: golden/<name>.program and .grid. On a difference the test writes the new text
// beside the build (TROIKA_BINARY_DIR/golden), to be read and, when right, copied over.
#include <gtest/gtest.h>

#include "base/file.h"
#include "schedule/build/builder.h"
#include "schedule/check/checker.h"
#include "schedule/trace/summary.h"
#include "schedule/instruction/program.h"
#include "schedule/shape_test_support.h"

namespace troika::schedule {
namespace {

struct Layout {
  std::string name, schedule;
  StepShape shape;
};

Layout plain(const std::string& schedule, int pp, int microbatches) {
  const std::string name = schedule + "_pp" + std::to_string(pp) + "_m" + std::to_string(microbatches);
  return {name, schedule, shape_of(pp, 1, microbatches, 1, stages_per_rank(schedule))};
}

// Three segments on each of two stages, two replicas.
Layout sharded(const std::string& name, const std::string& schedule, int zero, Overlap overlap = Overlap::on) {
  Layout layout{name, schedule, shape_of(2, 2, 8, 3)};
  layout.shape.zero = zero;
  layout.shape.overlap = overlap;
  return layout;
}

std::vector<Layout> layouts() {
  std::vector<Layout> all;
  for (const auto& schedule : schedule_names()) all.push_back(plain(schedule, 4, 8));
  all.push_back(plain("interleaved", 3, 4));
  for (int zero = 0; zero <= 3; ++zero)
    all.push_back(sharded("1f1b_pp2_dp2_m8_zero" + std::to_string(zero), "1f1b", zero));
  all.push_back(sharded("1f1b_pp2_dp2_m8_zero0_overlap_off", "1f1b", 0, Overlap::off));
  all.push_back(sharded("1f1b_pp2_dp2_m8_zero3_overlap_off", "1f1b", 3, Overlap::off));
  all.push_back(sharded("zb-h1_pp2_dp2_m8_zero3", "zb-h1", 3));
  all.push_back(sharded("1f1b_pp2_dp2_m8_tied", "1f1b", 0));
  all.back().shape.tied = true;
  all.push_back({"1f1b_pp2_m4_recompute", "1f1b", shape_of(2, 1, 4, 3)});
  all.back().shape.recompute = config::Recompute::full;
  all.push_back({"1f1b_dp2_m4_zero1_offload", "1f1b", shape_of(1, 2, 4, 3)});
  all.back().shape.zero = 1;
  all.back().shape.offload = config::Offload::host;
  all.push_back({"1f1b_pp2_m2_offload", "1f1b", shape_of(2, 1, 2, 3)});
  all.back().shape.offload = config::Offload::host;
  all.push_back({"1f1b_pp2_dp2_m4_shares", "1f1b", shape_of(2, 2, 4, 2)});
  all.back().shape.shares = {3, 1};
  all.push_back({"1f1b_m2", "1f1b", shape_of(1, 1, 2, 3)});
  all.push_back({"1f1b_pp3_m4_trained_from_3", "1f1b", shape_of(3, 1, 4, 2)});
  all.back().shape.first_trained = 3;
  return all;
}

std::string path_of(const std::string& name) { return std::string(TROIKA_SOURCE_DIR) + "/src/numbers/schedule/golden/" + name; }

void compare(const std::string& name, const std::string& text) {
  if (base::file_exists(path_of(name)) && base::read_file(path_of(name)) == text) return;
  const std::string folder = std::string(TROIKA_BINARY_DIR) + "/golden";
  base::make_directories(folder);
  base::write_file_atomic(folder + "/" + name, text);
  ADD_FAILURE() << path_of(name) << " differs from the text now written to " << folder << "/" << name << ":\n" << text;
}

TEST(Golden, ProgramIsTheText) {
  for (const Layout& l : layouts()) compare(l.name + ".program", to_text(build(l.schedule, l.shape)));
}

TEST(Golden, GridIsTheText) {
  for (const Layout& l : layouts()) compare(l.name + ".grid", grid(build(l.schedule, l.shape)));
}

std::vector<Layout> evaluations() {
  std::vector<Layout> all{sharded("evaluation_pp2_dp2_m8_zero3", "", 3), sharded("evaluation_pp2_dp2_m8_zero1", "", 1)};
  all.push_back({"evaluation_pp2_v2_m4", "", shape_of(2, 1, 4, 1, 2)});
  all.back().shape.tied = true;
  all.push_back({"evaluation_m2", "", shape_of(1, 1, 2, 3)});
  return all;
}

TEST(Golden, EvaluationIsTheText) {
  for (const Layout& l : evaluations()) {
    compare(l.name + ".program", to_text(build_evaluation(l.shape)));
    EXPECT_NO_THROW(check(parse_program(base::read_file(path_of(l.name + ".program"))), {}));
  }
}

TEST(Golden, ProgramTextParsesToASoundProgram) {
  for (const Layout& l : layouts()) {
    SCOPED_TRACE(l.name);
    const Program parsed = parse_program(base::read_file(path_of(l.name + ".program")));
    EXPECT_EQ(parsed.ranks, build(l.schedule, l.shape).ranks);
    EXPECT_NO_THROW(check(parsed, bounds(l.schedule, l.shape)));
  }
}

}  // namespace
}  // namespace troika::schedule
