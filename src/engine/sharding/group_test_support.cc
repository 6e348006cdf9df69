#include "sharding/group_test_support.h"

#include <fmt/format.h>

#include <exception>
#include <thread>

#include "base/random.h"
#include "comm/nccl_test_support.h"
#include "comm/threads_channel_test_support.h"
#include "tensor/libtorch_test_support.h"

namespace troika::sharding {

void on_ranks(int size, const std::function<void(comm::Channel&)>& body) {
  const auto channels = comm::make_thread_channels(size, "group", 20.0);
  std::vector<std::exception_ptr> errors(channels.size());
  std::vector<std::thread> ranks;
  for (std::size_t rank = 0; rank < channels.size(); ++rank) {
    ranks.emplace_back([&, rank] {
      try {
        body(*channels[rank]);
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  for (const std::exception_ptr& error : errors) {
    if (error != nullptr) std::rethrow_exception(error);
  }
}

void on_late_devices(int size, std::uint64_t seed, const std::function<void(comm::Channel&)>& body) {
  comm::NcclRanksOptions options;
  options.seed = seed;
  comm::NcclRanks ranks = comm::make_nccl_ranks(size, options);
  comm::run_nccl_ranks(ranks, body);
}

at::Tensor random_normal(const std::string& name, int rank, at::IntArrayRef sizes, at::ScalarType dtype) {
  const at::Tensor x = at::empty(sizes, at::kFloat);
  base::Philox(11, fmt::format("{} {}", name, rank)).fill_normal(0, x.numel(), x.data_ptr<float>());
  return x.to(dtype);
}

double relative_error(const at::Tensor& got, const at::Tensor& want) {
  if (want.numel() == 0) return 0;
  const at::Tensor exact = want.to(at::kDouble), difference = got.to(at::kDouble) - exact;
  const double scale = exact.abs().max().item<double>();
  return difference.abs().max().item<double>() / (scale > 0 ? scale : 1);
}

}  // namespace troika::sharding
