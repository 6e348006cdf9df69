// The messages of a training run, one kind and size at a time, for `bench comm`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "comm/channel.h"

namespace troika::bench {

// All ranks of the channel call the same functions in the same order.
struct Exchange {
  std::string name;
  std::int64_t bytes = 0;         // of the buffer
  std::int64_t sent_bytes = 0;    // by this rank
  std::function<double()> round;  // one exchange; its seconds on this rank
  std::function<bool()> correct;  // one exchange whose results are looked at
};

// `bytes` is a multiple of 8. The channel must outlive what is returned.
Exchange neighbours(comm::Channel& world, std::int64_t bytes);  // to the next rank, from the one before, all at once
// Gradients in fp32, of so many bytes: ranges change hands and are added up.
Exchange reduce_scatter(comm::Channel& world, std::int64_t bytes);
Exchange reduce_scatter_of_sums(comm::Channel& world, std::int64_t bytes);  // of two leaves each: packed integers
Exchange all_gather(comm::Channel& world, std::int64_t bytes);              // the summed ranges of all ranks
Exchange integers(comm::Channel& world, std::int64_t bytes);                // the exact sum that ends a step

}  // namespace troika::bench
