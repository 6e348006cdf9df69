#include "exporters/tensorboard.h"

#include <gmock/gmock.h>

#include <limits>

#include "base/temporary_folder_test_support.h"
#include "exporters/made_run_test_support.h"

namespace troika::exporters {
namespace {

TEST(Csv, HasAColumnForEveryKeyThatOccurs) {
  const std::string folder = base::temporary_folder() + "/csv";
  base::make_directories(folder);
  add_row(folder, made_row(1, 4.5));
  metrics::StepMetrics row = made_row(2, 4.0999999);
  row.grad_norm = std::numeric_limits<double>::quiet_NaN();
  row.extra = {{"valid_loss", 4.75}, {"a,b", 1}};
  add_row(folder, row);
  records::RunReader run(folder);
  run.refresh();
  EXPECT_EQ(csv(run),
            "step,loss,loss_bits,grad_norm,lr,tokens,tokens_total,step_seconds,tokens_per_second,memory_bytes,\"a,b\","
            "valid_loss\r\n"
            "1,4.5,40900000,1.5,0.001,100,100,0.5,200,4096,,\r\n"
            "2,4.0999999,40833333,,0.001,100,200,0.5,200,4096,1,4.75\r\n");
}

TEST(Csv, OfARunWithoutStepsIsItsHead) {
  records::RunReader run(base::temporary_folder() + "/absent");
  EXPECT_EQ(csv(run),
            "step,loss,loss_bits,grad_norm,lr,tokens,tokens_total,step_seconds,tokens_per_second,memory_bytes\r\n");
}

}  // namespace
}  // namespace troika::exporters
