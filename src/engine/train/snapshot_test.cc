#include "train/snapshot.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tensor/fake_streams_test_support.h"
#include "tensor/operations.h"

namespace troika::train {
using checkpoint::Slice;
namespace {
using tensor::Tensor;

Slice slice_of(const std::string& name, const Tensor& data) {
  return {name, {data.elements()}, {0, data.elements(), data.elements(), 1}, data};
}

TEST(Snapshot, OfHostStateIsTakenAtOnceAndBooked) {
  tensor::Ledger ledger;
  const auto streams = tensor::make_host_streams();
  {
    Snapshot snapshot(ledger, *streams);
    const Tensor w = tensor::full({3}, 1), m = tensor::full({5}, 2);
    std::vector<Slice> weights = {slice_of("w", w)}, state = {slice_of("m", m)};
    int pieces = 0;
    state[0].written = [&] { ++pieces; };
    snapshot.take({&weights, &state});
    EXPECT_TRUE(snapshot.copied().passed());
    EXPECT_EQ(pieces, 1);
    w.fill(7);
    m.fill(7);
    EXPECT_TRUE(tensor::equal(weights[0].data, tensor::full({3}, 1)));
    EXPECT_TRUE(tensor::equal(state[0].data, tensor::full({5}, 2)));
    EXPECT_EQ(ledger.live(tensor::MemoryUse::snapshot), 4 * 8);
  }
  EXPECT_EQ(ledger.live(), 0);
}

TEST(Snapshot, OfADevicesStateComesLateWithoutTheHostAndInTheOrderOfTheLanes) {
  tensor::Ledger ledger;
  const auto streams = tensor::make_fake_streams(tensor::make_fake_machine(3, 5));
  Snapshot snapshot(ledger, *streams);
  for (int round = 1; round <= 3; ++round) {
    const Tensor w = tensor::full({3 * round / 2}, round), m = tensor::full({5}, 2 * round);
    std::vector<Slice> weights = {slice_of("w", w)}, state = {slice_of("m", m)};
    snapshot.take({&weights, &state});
    EXPECT_TRUE(std::isnan(weights[0].data.data<float>()[0])) << "nobody has waited yet";
    EXPECT_TRUE(std::isnan(state[0].data.data<float>()[4]));
    EXPECT_EQ(ledger.live(tensor::MemoryUse::snapshot), 4 * (5 + 3 * round / 2));
    if (round == 2) {
      streams->wait(tensor::compute_lane, snapshot.copied());
      w.fill(9);  // as the next update does
      m.fill(9);
    } else {
      tensor::await(snapshot.copied(), [] {});
    }
    EXPECT_TRUE(tensor::equal(weights[0].data, tensor::full({3 * round / 2}, round)));
    EXPECT_TRUE(tensor::equal(state[0].data, tensor::full({5}, 2 * round)));
  }
}

}  // namespace
}  // namespace troika::train
