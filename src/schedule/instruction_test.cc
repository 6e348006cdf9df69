#include "schedule/instruction.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "schedule/builder.h"

namespace troika::schedule {
namespace {

using ::testing::HasSubstr;

std::string refusal(const std::string& text) {
  try {
    parse_instruction(text);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "";
}

std::string program_refusal(const std::string& text) {
  try {
    parse_program(text);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Instruction, EveryKindHasANameThatParsesBack) {
  for (int k = 0; k < kind_count; ++k) {
    Kind parsed = Kind::load;
    ASSERT_TRUE(parse_kind(name(static_cast<Kind>(k)), &parsed));
    EXPECT_EQ(parsed, static_cast<Kind>(k));
  }
  Kind parsed = Kind::load;
  EXPECT_FALSE(parse_kind("forward", &parsed));
}

TEST(Instruction, TextLeavesOutWhatIsUnsetAtTheEnd) {
  EXPECT_EQ(to_text({Kind::fwd, 4, 1, -1, 0}), "fwd 4.1");
  EXPECT_EQ(to_text({Kind::gather_params, -1, 1, 7, 0}), "gather_params *.1.7");
  EXPECT_EQ(to_text({Kind::reduce_grads, -1, 1, -1, 0}), "reduce_grads *.1");
  EXPECT_EQ(to_text({Kind::load, 4, -1, -1, 0}), "load 4");
  EXPECT_EQ(to_text({Kind::norm, -1, -1, -1, 0}), "norm");
}

TEST(Instruction, EveryCombinationOfFieldsRoundTrips) {
  for (int k = 0; k < kind_count; ++k) {
    for (const int m : {-1, 0, 12}) {
      for (const int s : {-1, 0, 3}) {
        for (const int g : {-1, 0, 30}) {
          const Instruction i{static_cast<Kind>(k), m, s, g, 0};
          EXPECT_EQ(parse_instruction(to_text(i)), i) << to_text(i);
        }
      }
    }
  }
}

TEST(Instruction, ParseErrorsQuoteTextAndPosition) {
  EXPECT_THAT(refusal("fwt 4.1"),
              HasSubstr("'fwt 4.1', character 1: 'fwt' is no kind of instruction; nearest is 'fwd'"));
  EXPECT_THAT(refusal("fwd 4.x"), HasSubstr("'fwd 4.x', character 7: 'x'"));
  EXPECT_THAT(refusal("fwd -4.1"), HasSubstr("character 5"));
  EXPECT_THAT(refusal("fwd "), HasSubstr("character 5"));
  EXPECT_THAT(refusal("fwd 1.2.3.4"), HasSubstr("more than microbatch.stage.segment"));
  EXPECT_THAT(refusal("fwd 99999999999"), HasSubstr("99999999999"));
  EXPECT_THAT(refusal(""), HasSubstr("character 1"));
}

TEST(Program, TextRoundTripsForBothSchedules) {
  for (const auto& schedule : schedule_names()) {
    for (const bool tied : {false, true}) {
      PipelineShape shape;
      shape.pp = 3;
      shape.dp = 2;
      shape.microbatches = 8;
      shape.tied = tied;
      const Program program = build(schedule, shape);
      const Program parsed = parse_program(to_text(program));
      EXPECT_EQ(to_text(parsed), to_text(program));
      EXPECT_EQ(parsed.lanes, program.lanes);
      EXPECT_EQ(parsed.pp_rank_of_stage, program.pp_rank_of_stage);
      EXPECT_EQ(parsed.tied, tied);
      EXPECT_EQ(parsed.dp, 2);
    }
  }
}

TEST(Program, ParseErrorsNameLineAndColumn) {
  EXPECT_THAT(program_refusal("pp 1 dp 1 microbatches 1 stages 0\nload 0 | fwd 0.0 | fwt 0.0\n"),
              HasSubstr("in line 2 of the program text, column 20, instruction 2 of lane 0"));
  EXPECT_THAT(program_refusal(""), HasSubstr("line 1"));
  EXPECT_THAT(program_refusal("pp 2 dp 1 microbatches 1 stages 0,2\n"), HasSubstr("pp rank '2', which is not in 0..1"));
  EXPECT_THAT(program_refusal("pp 1 dp 2 microbatches 3 stages 0\n"),
              HasSubstr("3 microbatches do not divide over dp 2"));
  EXPECT_THAT(program_refusal("pp 2 dp 1 microbatches 1 stages 0,1\nnorm\n"),
              HasSubstr("has 1 lane lines, but pp 2 x dp 1 needs 2"));
  EXPECT_THAT(program_refusal("pp 1 dp 1 microbatches 1 stages 0 untied\nnorm\n"), HasSubstr("only 'tied'"));
  EXPECT_THAT(program_refusal("pp x dp 1 microbatches 1 stages 0\n"), HasSubstr("'pp' must be a whole number"));
}

}  // namespace
}  // namespace troika::schedule
