#include "bench/gathered.h"

#include "comm/collectives.h"
#include "tensor/tensor.h"

namespace troika::bench {

tensor::Tensor gathered(comm::Channel& world, const std::vector<double>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  const tensor::Tensor mine = tensor::of(values), all = tensor::empty({world.size(), count}, tensor::Dtype::fp64);
  std::vector<tensor::Tensor> rows;
  for (int rank = 0; rank < world.size(); ++rank) rows.push_back(all[rank]);
  comm::all_gather(world, mine, rows);
  return all;
}

}  // namespace troika::bench
