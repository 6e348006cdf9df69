// A Hugging Face model folder as a source of weights.
#pragma once

#include <memory>
#include <string>

#include "weights/model_source.h"
#include "weights/weights_folder.h"

namespace troika::weights {

// Collective over `world`; see open_model.
std::unique_ptr<ModelSource> open_folder_source(const std::string& path, comm::Channel& world);

// Of a folder whose config.json ties the head to the embedding and whose files contain a head nevertheless: DataError naming both tensors where the folder holds an lm_head.weight with other numbers than `table`, the embedding's. Reads
// both; one that is equal is fine.
void refuse_other_head(const WeightsFolder& folder, const StoredTensor& table);

}  // namespace troika::weights
