#include "commands/bench/kernel_table.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <cmath>

#include "base/error.h"
#include "commands/bench/operation.h"

namespace troika::commands {
namespace {
using testing::HasSubstr;

TEST(KernelTable, SetsOperationsBesideTheMachine) {
  const MachineRates rates{2e9, 1e9};
  const std::vector<MeasuredOperation> rows{{"product", "M 1", 3, 4e6, 1e3, 0.004, 0},
                                            {"copy", "M 2", 1, 0, 1e6, 0.002, 0}};
  EXPECT_EQ(rows[0].ideal_seconds(rates), 0.002);
  EXPECT_EQ(rows[1].ideal_seconds(rates), 0.001);
  const std::string table = to_table(rows, rates);
  EXPECT_THAT(table, HasSubstr("1.0 GF/s"));
  EXPECT_THAT(table, HasSubstr("0.5 GB/s"));
  EXPECT_THAT(table, HasSubstr("all of a step: 14.000 ms, ideal 7.000 ms (50 %)"));
  EXPECT_THAT(to_csv(rows, rates), HasSubstr("\"product\",M 1,3,4000.000,1,GF/s,2000.000,0.5,12,0\n"));
}

TEST(KernelTable, TheErrorIsRelativeToTheLargestValueAndNaNIsAnError) {
  const at::Tensor want = at::tensor({4.0f, 0.5f}), got = at::tensor({4.0f, 0.25f});
  EXPECT_EQ(relative_error({got}, {want}), 0.0625);
  EXPECT_EQ(relative_error({want}, {want}), 0);
  EXPECT_TRUE(std::isnan(relative_error({at::full({2}, NAN)}, {want})));
  EXPECT_TRUE(std::isnan(relative_error({at::full({2}, NAN), want}, {want, want})));
  EXPECT_THROW(relative_error({got}, {want, want}), base::BugError);
  EXPECT_THROW(relative_error({at::zeros({3})}, {want}), base::BugError);
}

}  // namespace
}  // namespace troika::commands
