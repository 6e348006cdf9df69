// Reads parts of tensors out of a model folder's mapped files.
#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "weights/weights_match.h"

namespace troika::weights {

// Fills every slice's `data` with its region of the tensor of that name, as fp32. Returns the bytes read, in the stored dtypes:
// of the wanted elements alone. Slices are on the host or on one device. Pages of the files leave the process again, so its
// memory grows by one piece of 16 MiB, and by 16 MiB for slices on a device. Works on as many threads as tensor::set_threads
// allows. DataError when a name is not in `tensors` or a shape differs; BugError when a slice is not what `Slice` promises.
std::int64_t read_weights(const Assignment& tensors, const std::vector<checkpoint::Slice>& wanted);

}  // namespace troika::weights
