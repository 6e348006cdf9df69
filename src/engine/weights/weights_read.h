// Maps the tensors of a model folder to parameters, and reads parts of them out of the folder's mapped files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "config/settings/settings.h"
#include "weights/weights_folder.h"

namespace troika::weights {

using Assignment = std::map<std::string, StoredTensor>;  // by parameter name

// The tensors of all parameters of `wanted`. `stored`: what the folder's config.json describes; `wanted` may have fewer layers,
// then the first ones are taken. A folder of the model without its head leaves out the family's prefix ("model.",
// "transformer."). DataError that lists every parameter that is missing, of another shape or of no dtype of weights, and every
// tensor that is neither a parameter of `stored` nor known to be none (shape/architecture.h).
Assignment match_weights(const WeightsFolder& folder, const config::ModelSettings& stored,
                         const config::ModelSettings& wanted);

// Fills every slice's `data` with its region of the tensor of that name, in the slice's dtype. Returns the bytes read, in the stored dtypes:
// of the wanted elements alone. Slices are on the host or on one device. Pages of the files leave the process again, so its
// memory grows by one piece of 16 MiB, and by 16 MiB for slices on a device. Works on as many threads as tensor::set_threads
// allows. DataError when a name is not in `tensors` or a shape differs; BugError when a slice is not what `Slice` promises.
std::int64_t read_weights(const Assignment& tensors, const std::vector<checkpoint::Slice>& wanted);

// Numbers between fp32 and the dtypes that weights are stored in. Every bit pattern of bf16 and fp16 becomes fp32 and comes
// back the same, infinities, subnormals and NaNs included.
bool is_weight_dtype(checkpoint::StoredDtype dtype);  // F32, BF16, F16

// `count` numbers of `from` at `source` (any alignment), exactly. `to` does not overlap.
void widen(checkpoint::StoredDtype from, const std::byte* source, std::int64_t count, float* to);

// By way of fp32 where the dtypes differ. `to` does not overlap.
void convert(checkpoint::StoredDtype from, const std::byte* source, std::int64_t count, checkpoint::StoredDtype to, std::byte* target);

// Rounds to nearest, ties to even. Returns how many finite numbers became infinite. `to` does not overlap.
std::int64_t narrow(const float* source, std::int64_t count, checkpoint::StoredDtype to, std::byte* target);

}  // namespace troika::weights
