#include "sweep/row.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/text.h"
#include "sweep/sweep_test_support.h"

namespace troika::sweep {
namespace {
using testing::HasSubstr;
using testing::StartsWith;

std::string csv_refusal(const std::string& text) {
  try {
    parse_csv(text, "x.csv");
  } catch (const base::DataError& error) {
    return error.what();
  }
  return "";
}

SweepRows rows_of_all_kinds() {
  planner::Layout every = layout_with(2, 3, 1);
  every.tp = 4;
  every.cp = 5;
  every.schedule = config::Schedule::interleaved;
  every.virtual_stages = 2;
  every.micro = 1 << 20;
  every.global = std::int64_t{1} << 40;
  every.recompute = config::Recompute::selective;
  every.offload = config::Offload::file;
  every.precision = config::Precision::bf16;
  return {measured_row(every, 5769.123456789),
          unmeasured_row(layout_with(4, 1), SweepStatus::failed, "rank 1 said \"no\", then\r\nnothing, = 1"),
          unmeasured_row(layout_with(1, 4), SweepStatus::timeout, ""),
          unmeasured_row(layout_with(1, 1), SweepStatus::interrupted, "\"")};
}

TEST(SummaryCsv, BeginsWithTheColumnsThatOthersRead) {
  EXPECT_THAT(to_csv({}), StartsWith("dp,pp,tp,cp,zero,schedule,micro_batch_size,recompute,samples_per_second,"
                                     "tokens_per_second,step_seconds,memory_bytes,communication_share,bubble_share,"
                                     "predicted_step_seconds,predicted_memory_bytes,status,"));
  EXPECT_TRUE(parse_csv(to_csv({}), "x.csv").empty());
}

TEST(SummaryCsv, GivesEveryRowBackWithEveryDigit) {
  const SweepRows rows = rows_of_all_kinds();
  const SweepRows read = parse_csv(to_csv(rows), "x.csv");
  ASSERT_EQ(read.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(read[i].layout, rows[i].layout);
    EXPECT_EQ(read[i].reason.english, rows[i].reason.english);
    EXPECT_EQ(read[i].reason.chinese, rows[i].reason.chinese);
    EXPECT_EQ(read[i].status, rows[i].status);
    EXPECT_EQ(read[i].measured.has_value(), rows[i].measured.has_value());
  }
  EXPECT_EQ(read[0].measured->communication_share, 1.0 / 3);
  EXPECT_EQ(read[0].measured->tokens_per_second, 5769.123456789);
  EXPECT_EQ(read[0].measured->loss_bits, "40b1f2a3");
  EXPECT_EQ(to_csv(read), to_csv(rows));
}

TEST(SummaryCsv, LeavesEmptyWhatWasNotMeasured) {
  const std::string text = to_csv({unmeasured_row(layout_with(2, 1), SweepStatus::failed, "why")});
  EXPECT_THAT(text, HasSubstr("\n2,1,1,1,0,1f1b,1,none,,,,,,,0.5,1000,failed,1,none,fp32,1,,2000,,61.5,why,why\n"));
}

TEST(SummaryCsv, PassesOverColumnsThatItDoesNotKnow) {
  std::string text;
  for (const std::string& line : base::split(base::trim(to_csv(rows_of_all_kinds())), '\n'))
    if (line.find("nothing") == std::string::npos && line.find("said") == std::string::npos)
      text += line + (text.empty() ? ",note\n" : ",\"a, b\"\n");
  EXPECT_EQ(parse_csv(text, "x.csv").size(), 3u);
}

TEST(SummaryCsv, ReadsTablesThatHaveReasonsInEnglishAlone) {
  std::string text = to_csv({unmeasured_row(layout_with(2, 1), SweepStatus::failed, "why")});
  text.erase(text.find(",reason_zh"), 10);
  text.erase(text.find(",why,why"), 4);
  EXPECT_EQ(parse_csv(text, "x.csv").at(0).reason.chinese, "why");
}

TEST(SummaryCsv, NamesThePlaceOfWhatIsWrong) {
  const std::string good = to_csv({measured_row(layout_with(2, 1), 100)});
  EXPECT_THAT(csv_refusal(good.substr(0, good.size() - 1)), HasSubstr("line 2 of x.csv is cut off"));
  EXPECT_THAT(csv_refusal("dp,pp\n1,2\n"), HasSubstr("line 1 of x.csv has no column tp"));
  EXPECT_THAT(csv_refusal(good + "1,2\n"), HasSubstr("line 3 of x.csv has 2 values for 27 columns"));
  std::string other = good;
  other.replace(other.find("\n2,") + 1, 1, "x");
  EXPECT_THAT(csv_refusal(other), HasSubstr("line 2 of x.csv, dp, is 'x' but must be a whole number"));
  EXPECT_THAT(csv_refusal(good + "\"1"), HasSubstr("cut off inside a quoted text"));
  EXPECT_NE(csv_refusal(""), "");
}

TEST(SweepCells, AreThoseOfTheTable) {
  std::vector<std::string> names;
  for (const SweepCell& cell : cells_of(measured_row(layout_with(2, 1), 100))) {
    names.emplace_back(cell.column);
    const bool is_word = cell.column == "schedule" || cell.column == "loss_bits" || cell.column == "status";
    if (is_word || cell.column == "dp") {
      EXPECT_EQ(cell.is_number, !is_word) << cell.column;
    }
    if (cell.column == "tokens_per_second") {
      EXPECT_EQ(cell.text, "100");
    }
  }
  EXPECT_EQ(base::join(names, ","), to_csv({}).substr(0, to_csv({}).find('\n')));
}

}  // namespace
}  // namespace troika::sweep
