#include "commands/bench/kernel_table.h"

#include <gmock/gmock.h>

namespace troika::commands {
namespace {
using testing::HasSubstr;

TEST(KernelTable, SetsOperationsBesideTheMachine) {
  const MachineRates rates{2e9, 1e9};
  const std::vector<MeasuredOperation> rows{{"product", "M 1", 3, 4e6, 1e3, 0.004},
                                            {"copy", "M 2", 1, 0, 1e6, 0.002}};
  EXPECT_EQ(rows[0].ideal_seconds(rates), 0.002);
  EXPECT_EQ(rows[1].ideal_seconds(rates), 0.001);
  const std::string table = to_table(rows, rates);
  EXPECT_THAT(table, HasSubstr("1.0 GF/s"));
  EXPECT_THAT(table, HasSubstr("0.5 GB/s"));
  EXPECT_THAT(table, HasSubstr("all of a step: 14.000 ms, ideal 7.000 ms (50 %)"));
  EXPECT_THAT(to_csv(rows, rates), HasSubstr("\"product\",M 1,3,4000.000,1,GF/s,2000.000,0.5,12\n"));
}

}  // namespace
}  // namespace troika::commands
