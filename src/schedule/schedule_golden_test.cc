// Programs and grids as text files: golden/<schedule>_<layout>.program and .grid. On a difference the test writes the new text
// beside the build (TROIKA_BINARY_DIR/golden), to be read and, when right, copied over.
#include <gtest/gtest.h>

#include "base/file.h"
#include "schedule/schedule.h"

namespace troika::schedule {
namespace {

struct Layout {
  const char* name;
  int pp, dp, microbatches;
  bool tied;
};

class Golden : public ::testing::TestWithParam<Layout> {
 protected:
  static PipelineShape shape() {
    PipelineShape shape;
    shape.pp = GetParam().pp;
    shape.dp = GetParam().dp;
    shape.microbatches = GetParam().microbatches;
    shape.tied = GetParam().tied;
    return shape;
  }

  static void compare(const std::string& name, const std::string& text) {
    const std::string path = std::string(TROIKA_SOURCE_DIR) + "/src/schedule/golden/" + name;
    if (base::file_exists(path) && base::read_file(path) == text) return;
    const std::string folder = std::string(TROIKA_BINARY_DIR) + "/golden";
    base::make_directories(folder);
    base::write_file_atomic(folder + "/" + name, text);
    ADD_FAILURE() << path << " differs from the text now written to " << folder << "/" << name << ":\n" << text;
  }
};

TEST_P(Golden, ProgramIsTheText) {
  for (const auto& schedule : schedule_names())
    compare(schedule + "_" + GetParam().name + ".program", to_text(build(schedule, shape())));
}

TEST_P(Golden, GridIsTheText) {
  for (const auto& schedule : schedule_names())
    compare(schedule + "_" + GetParam().name + ".grid", grid(build(schedule, shape())));
}

TEST_P(Golden, ProgramTextParsesToASoundProgram) {
  for (const auto& schedule : schedule_names()) {
    const std::string path =
        std::string(TROIKA_SOURCE_DIR) + "/src/schedule/golden/" + schedule + "_" + GetParam().name + ".program";
    const Program parsed = parse_program(base::read_file(path));
    EXPECT_EQ(parsed.lanes, build(schedule, shape()).lanes);
    EXPECT_NO_THROW(check(parsed, bounds(schedule, shape())));
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, Golden,
                         ::testing::Values(Layout{"pp3_m4", 3, 1, 4, false}, Layout{"pp3_m12", 3, 1, 12, false},
                                           Layout{"pp4_m8", 4, 1, 8, false}, Layout{"dp2_pp2_m8_tied", 2, 2, 8, true}),
                         [](const auto& layout) { return layout.param.name; });

}  // namespace
}  // namespace troika::schedule
