#include "bench/kernel_table.h"

#include <gmock/gmock.h>

namespace troika::bench {
namespace {
using testing::HasSubstr;

TEST(KernelTable, SetsOperationsBesideTheMachine) {
  const MachineRates rates{2e9, 1e9};
  const std::vector<MeasuredOperation> rows{{"product", "M 1", 3, 4e6, 1e3, 0.004},
                                            {"copy", "M 2", 1, 0, 1e6, 0.002}};
  EXPECT_EQ(rows[0].ideal_seconds(rates), 0.002);
  EXPECT_EQ(rows[1].ideal_seconds(rates), 0.001);
  const std::string table = to_table(rows, rates, base::Language::english);
  EXPECT_THAT(table, HasSubstr("1.0 GF/s"));
  EXPECT_THAT(table, HasSubstr("0.5 GB/s"));
  EXPECT_THAT(table, HasSubstr("all of a step: 14.000 ms, ideal 7.000 ms (50 %)"));
  EXPECT_THAT(to_csv(rows, rates), HasSubstr("\"product\",M 1,3,4000.000,1,GF/s,2000.000,0.5,12\n"));
}

TEST(KernelTable, OfADeviceSaysWhatIsMovedAndMultipliedAndHowLongTheHostTakes) {
  const MachineRates rates{2e14, 1e12};
  const std::vector<MeasuredOperation> rows{{"product", "M 1", 3, 4e11, 1e6, 0.004, 0.0005},
                                            {"copy", "M 2", 1, 0, 1e9, 0.002, 0.0001}};
  const std::string table = to_device_table(rows, rates, base::verbatim("h100"), base::Language::english);
  EXPECT_THAT(table, HasSubstr("4000.0    500.0       1.0     400.0 100.0 TFLOP/s     2000.0   50 %     12.000"));
  EXPECT_THAT(table, HasSubstr("500 GB/s"));
  EXPECT_THAT(table, HasSubstr("all of a step: 14.000 ms, queued in 1.600 ms, ideal 7.000 ms (50 %) at 200.0 TFLOP/s"));
  EXPECT_THAT(table, HasSubstr(" and 1000 GB/s (h100)"));
  EXPECT_THAT(to_device_csv(rows, rates), HasSubstr("\"copy\",M 2,1,2000.000,100.000,1000000000,0,1000.000,0.5,2\n"));
}

}  // namespace
}  // namespace troika::bench
