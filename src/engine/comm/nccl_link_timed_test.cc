// Has the machine to itself: what a message costs the thread that posts it.
#include "comm/nccl_link.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "tensor/tensor.h"

namespace troika::comm {
namespace {
using nccl::Comm;
using nccl::Result;

constexpr double launch_seconds = 20e-6;  // of NCCL's thread, until an operation is in its stream
double in_stream_at = 0;

Result success() { return Result::success; }

// NCCL as far as a link calls it.
std::shared_ptr<nccl::Api> late_nccl() {
  const auto api = std::make_shared<nccl::Api>();
  api->comm_init_rank_config = [](Comm** made, int, nccl::UniqueId, int, nccl::Config*) {
    static char one = 0;
    *made = reinterpret_cast<Comm*>(&one);
    return Result::success;
  };
  api->comm_get_async_error = [](Comm*, Result* error) {
    *error = base::monotonic_seconds() < in_stream_at ? Result::in_progress : Result::success;
    return Result::success;
  };
  api->comm_abort = [](Comm*) { return Result::success; };
  api->group_start = success;
  api->group_end = [] {
    in_stream_at = base::monotonic_seconds() + launch_seconds;
    return Result::in_progress;
  };
  return api;
}

TEST(NcclLink, PostsAMessageInLittleMoreTimeThanNcclTakes) {
  const auto communicator = std::make_shared<Communicator>(late_nccl(), nccl::UniqueId{}, GroupRank{}, 0);
  const auto streams = tensor::make_host_streams();
  Link link(*streams, [&] { return communicator; });
  std::vector<double> seconds;
  for (int i = 0; i < 1001; ++i) {
    const auto task = std::make_shared<LinkTask>();
    task->operation.bytes = 1;
    task->call = [](const nccl::Api&, Comm*) { return Result::success; };
    const double begin = base::monotonic_seconds();
    link.add(task);
    link.launch();
    while (!link.settled()) link.progress();  // the first, which may have to wait for the peer
    seconds.push_back(base::monotonic_seconds() - begin);
  }
  std::nth_element(seconds.begin(), seconds.begin() + 500, seconds.end());
  EXPECT_LT(seconds[500], launch_seconds + 20e-6);  // the shortest sleep alone is 55 us
}

}  // namespace
}  // namespace troika::comm
