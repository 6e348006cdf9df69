// A part: the safetensors file with one rank's slices. A whole tensor is an entry with its name and shape; any other
// region is a one-dimensional entry whose place is in the metadata under "region." + entry name. Several slices of
// one tensor in one part are the entries NAME, NAME#1, NAME#2, ...
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/part_entry.h"
#include "checkpoint/safetensors_writer.h"

namespace troika::checkpoint {

// BugError when a slice's data is not what `Slice` promises.
void check_slice(const Slice& slice);

// The same, but that half precision is good, too.
void check_slice_to_save(const Slice& slice);

// Writes one part, in fp32. Data on a device come through two buffers of 4 MiB (tensor::Download): one is written while the other
// is filled. `check` as in tensor::await.
WrittenFile write_part(const std::string& path, const std::vector<Slice>& slices, const std::function<void()>& check);

}  // namespace troika::checkpoint
