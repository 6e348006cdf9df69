// For tests: ranks as threads, a small model cut in several ways, and values that are a function of name and index.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace troika::checkpoint::testing_support {

// Runs body(channel of the rank) on `size` threads. The first exception of the lowest rank is rethrown after all have ended.
void run_ranks(int size, const std::function<void(comm::Channel&)>& body);

// The text of the error each rank throws; "" where it throws none.
std::vector<std::string> errors_of_ranks(int size, const std::function<void(comm::Channel&)>& body);

// An empty folder of this test.
std::string fresh_folder(const std::string& name);

// How the model's tensors lie on the ranks.
enum class Cut {
  whole,      // tensor i as a whole on rank i % size, as in a pipeline
  flat,       // every tensor in `size` nearly equal flat pieces, as with sharded state
  columns,    // matrices by columns (strided), vectors as in `flat`
  scattered,  // chunks of 7 elements dealt round-robin: several slices of one tensor on one rank
};

// This rank's slices; `filled` ones hold the values, `empty` ones NaN.
std::vector<Slice> filled_slices(Cut cut, const std::string& prefix, int rank, int size);
std::vector<Slice> empty_slices(Cut cut, const std::string& prefix, int rank, int size);

// How many elements of the slices differ in any bit from what filled_slices would hold.
std::int64_t wrong_elements(const std::vector<Slice>& slices);

float value_at(const std::string& name, std::int64_t index);

// Saves the model at a step: weights and adam_m by the cuts. Root of rank r: roots[r % roots.size()].
SaveRequest request_for(const std::string& root, std::int64_t step, Cut weights, Cut state, const comm::Channel& world);
void save_all(const std::vector<std::string>& roots, int size, std::int64_t step, Cut weights, Cut state);

// Finds the newest over `roots` with `size` ranks, loads everything by `cut`, and expects equal bits everywhere.
void expect_loads(const std::vector<std::string>& roots, int size, Cut cut, std::int64_t step);

}  // namespace troika::checkpoint::testing_support
