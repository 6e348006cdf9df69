// Folders whose config.json ties the head to the embedding and whose files contain a head nevertheless.
#pragma once

#include "weights/weights_folder.h"

namespace troika::weights {

// DataError naming both tensors where the folder holds an lm_head.weight with other numbers than `table`, the embedding's. Reads
// both; one that is equal is fine.
void refuse_other_head(const WeightsFolder& folder, const StoredTensor& table);

}  // namespace troika::weights
