// Shared parts of the tests of the groups: ranks as threads, and seeded tensors.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "comm/channel.h"
#include "tensor/libtorch_test_support.h"

namespace troika::sharding {

// Runs body(channel) on a thread per rank; the first exception of the lowest rank is thrown again here.
void on_ranks(int size, const std::function<void(comm::Channel&)>& body);
// The same over the stand-in for NCCL, between fake devices that are late in ways drawn by `seed`.
void on_late_devices(int size, std::uint64_t seed, const std::function<void(comm::Channel&)>& body);

// Standard normal values of their own for every (name, rank, sizes), rounded to `dtype`.
at::Tensor random_normal(const std::string& name, int rank, at::IntArrayRef sizes,
                         at::ScalarType dtype = at::ScalarType::Float);

// max|a - b| / max|b|, in double; where b is zero, max|a - b|.
double relative_error(const at::Tensor& got, const at::Tensor& want);

}  // namespace troika::sharding
