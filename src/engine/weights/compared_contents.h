// Compares every byte of the copies of a model folder on different disks.
#pragma once

#include <string>

#include "comm/channel.h"
#include "weights/weights_read.h"

namespace troika::weights {

// Collective over `world`. `tensors`: of this rank's folder `path`; names, dtypes and shapes are equal on all ranks. Where all ranks
// see the same files, nothing is read. Else each copy is read and hashed once, by the ranks that see it together. ConfigError on all
// ranks naming tensor, file, bytes, rank and host of a copy that is not like most of them, or with as many of each, like rank 0's.
// DataError when a file cannot be read.
void refuse_other_contents(const std::string& path, const Assignment& tensors, comm::Channel& world);

}  // namespace troika::weights
