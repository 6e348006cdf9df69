#include <gmock/gmock.h>

#include "base/error.h"
#include "schedule/build/builder.h"
#include "schedule/instruction/program.h"
#include "schedule/shape_test_support.h"

namespace troika::schedule {
namespace {

using ::testing::HasSubstr;

std::string instruction_refusal(const std::string& text) {
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
  for (std::size_t k = 0; k < kind_count; ++k) {
    EXPECT_EQ(parse_instruction(name(static_cast<Kind>(k))).kind, static_cast<Kind>(k));
  }
  EXPECT_THROW(parse_instruction("forward"), base::ConfigError);
}

TEST(Instruction, TextLeavesOutWhatIsUnsetAtTheEnd) {
  EXPECT_EQ(to_text({Kind::fwd, 4, 1, -1, 0}), "fwd 4.1");
  EXPECT_EQ(to_text({Kind::gather_params, -1, 1, 7, 0}), "gather_params *.1.7");
  EXPECT_EQ(to_text({Kind::reduce_grads, -1, 1, -1, 0}), "reduce_grads *.1");
  EXPECT_EQ(to_text({Kind::load, 4, -1, -1, 0}), "load 4");
  EXPECT_EQ(to_text({Kind::norm, -1, -1, -1, 0}), "norm");
}

TEST(Instruction, EveryCombinationOfFieldsRoundTrips) {
  for (std::size_t k = 0; k < kind_count; ++k) {
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
  EXPECT_THAT(instruction_refusal("fwt 4.1"),
              HasSubstr("'fwt 4.1', character 1: 'fwt' is not an instruction; did you mean 'fwd'?"));
  EXPECT_THAT(instruction_refusal("fwd 4.x"), HasSubstr("'fwd 4.x', character 7: 'x'"));
  EXPECT_THAT(instruction_refusal("fwd -4.1"), HasSubstr("character 5"));
  EXPECT_THAT(instruction_refusal("fwd "), HasSubstr("character 5"));
  EXPECT_THAT(instruction_refusal("fwd 1.2.3.4"), HasSubstr("more than microbatch.stage.segment"));
  EXPECT_THAT(instruction_refusal("fwd 99999999999"), HasSubstr("99999999999"));
  EXPECT_THAT(instruction_refusal(""), HasSubstr("character 1"));
}

TEST(Program, TextRoundTripsForEverySchedule) {
  for (const auto& schedule : schedule_names()) {
    for (int zero = 0; zero <= 3; ++zero) {
      StepShape shape = shape_of(3, 2, 8, 2, stages_per_rank(schedule));
      shape.tied = zero % 2 == 0;
      shape.replicas = 4;
      shape.zero = zero;
      const Program program = build(schedule, shape);
      const Program parsed = parse_program(to_text(program));
      EXPECT_EQ(to_text(parsed), to_text(program));
      EXPECT_EQ(parsed.ranks, program.ranks);
      EXPECT_EQ(parsed.pp_rank_of_stage, program.pp_rank_of_stage);
      EXPECT_EQ(parsed.segment_begin, program.segment_begin);
      EXPECT_EQ(parsed.tied, shape.tied);
      EXPECT_EQ(parsed.dp, 2);
      EXPECT_EQ(parsed.replicas, 4);
      EXPECT_EQ(parsed.zero, zero);
    }
  }
}

TEST(Program, UnequalSharesAreWrittenBehindTheMicrobatches) {
  StepShape shape = shape_of(1, 2, 12);
  shape.shares = {9, 3};
  const Program program = build("1f1b", shape);
  EXPECT_THAT(to_text(program), HasSubstr(" microbatches 12 shares 9,3 stages 0 "));
  EXPECT_EQ(to_text(parse_program(to_text(program))), to_text(program));
  EXPECT_EQ(program.microbatches_of(1), (std::vector<int>{9, 10, 11}));
  for (const auto& [wrong, text] : std::vector<std::pair<std::vector<int>, std::string>>{
           {{9, 4}, "13"}, {{12, 0}, "every share must have a microbatch"}, {{12}, "1 shares"}}) {
    shape.shares = wrong;
    EXPECT_THAT(refusal_of<base::ConfigError>([&] { build("1f1b", shape); }), HasSubstr(text));
  }
  shape.shares = {9, 3};
  shape.zero = 2;
  EXPECT_THAT(refusal_of<base::ConfigError>([&] { build("1f1b", shape); }), HasSubstr("their shares are equal"));
}

TEST(Program, EveryMicrobatchBelongsToOneShareInWhichItHasItsPlace) {
  for (int zero = 0; zero <= 3; ++zero) {
    StepShape shape = shape_of(1, 3, 12);
    shape.zero = zero;
    if (zero == 1) shape.shares = {5, 2, 5};
    const Program program = build("1f1b", shape);
    int count = 0;
    for (int d = 0; d < 3; ++d) {
      int place = 0;
      for (const int m : program.microbatches_of(d)) {
        EXPECT_EQ(program.dp_rank_of(m), d);
        EXPECT_EQ(program.index_in_share(m), place++);
        ++count;
      }
    }
    EXPECT_EQ(count, 12);
  }
}

TEST(Program, ParseErrorsNameLineAndColumn) {
  const std::string header = "pp 1 dp 1 replicas 1 zero 0 microbatches 1 stages 0 segments 0,1";
  EXPECT_THAT(program_refusal(header + "\nload 0 | fwd 0.0 | fwt 0.0\n"),
              HasSubstr("in line 2 of the program text, column 20, instruction 2 of grid rank 0"));
  EXPECT_THAT(program_refusal(""), HasSubstr("line 1 '': word 1 must be 'pp'"));
  EXPECT_THAT(program_refusal("pp 2 dp 1 replicas 1 zero 0 microbatches 1 stages 0,2 segments 0,1,2\n"),
              HasSubstr("stage 1 sits on pp rank 2, which is not in 0..1"));
  EXPECT_THAT(program_refusal("pp 1 dp 2 replicas 2 zero 0 microbatches 3 stages 0 segments 0,1\n"),
              HasSubstr("3 microbatches do not divide over dp 2"));
  EXPECT_THAT(program_refusal("pp 2 dp 1 replicas 1 zero 0 microbatches 1 stages 0,1 segments 0,1,2\nnorm\n"),
              HasSubstr("has 1 rank lines, but pp 2 x dp 1 needs 2"));
  EXPECT_THAT(program_refusal(header + " untied\nnorm\n"), HasSubstr("word 15: only 'tied'"));
  EXPECT_THAT(program_refusal(header + " tied tied\nnorm\n"), HasSubstr("word 16: only 'tied'"));
  EXPECT_THAT(program_refusal("pp x dp 1\n"), HasSubstr("word 2 ('pp') must hold whole numbers"));
  EXPECT_THAT(program_refusal("pp 1 dp 1 microbatches 1\n"), HasSubstr("word 5 must be 'replicas'"));
  EXPECT_THAT(program_refusal("pp 1 dp 1 replicas 1 zero 0 microbatches 1 stages 0 segments 0,x\n"),
              HasSubstr("word 14 ('segments') must hold whole numbers from 0 to 1000000, not 'x'"));
  EXPECT_THAT(program_refusal("pp 1 dp 1 replicas 1 zero 4 microbatches 1 stages 0 segments 0,1\n"),
              HasSubstr("zero must be from 0 to 3"));
}

TEST(Program, SizesWithoutMeasureAreRefused) {
  EXPECT_THAT(program_refusal("pp 99999 dp 99999 replicas 1 zero 0 microbatches 1 stages 0 segments 0,1\n"),
              HasSubstr("pp must be from 1 to 16384"));
  EXPECT_THAT(program_refusal("pp 1000 dp 1000 replicas 1 zero 0 microbatches 1000 stages 0 segments 0,1\n"),
              HasSubstr("ranks are more than 16384"));
  EXPECT_THAT(program_refusal("pp 1 dp 1 replicas 1 zero 0 microbatches 1000000 stages 0 segments 0,60000\n"),
              HasSubstr("1000000 microbatches x 60000 segments are more than"));
  EXPECT_THAT(program_refusal("pp 99999999999999999999 dp 1\n"), HasSubstr("word 2 ('pp')"));
  EXPECT_THAT(
      program_refusal("pp 1 dp 1 replicas 1 zero 0 microbatches 1 stages 0 segments 0,1\n" + std::string(100000, 'x')),
      HasSubstr("an instruction is never that long"));
}

}  // namespace
}  // namespace troika::schedule
