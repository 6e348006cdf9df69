// The `post_processor` of a Hugging Face tokenizer.json: what it puts in front of a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace troika::data {

// The ids before the text in the `single` template of each TemplateProcessing, alone or in a Sequence, where a later one's
// stand before an earlier one's. Other kinds of post-processor that only add marks or trim offsets give none. DataError that
// names `origin` and the part for other kinds, templates of another form, ids outside [0, vocab_size) and more than 64 ids.
std::vector<std::int32_t> read_begin_ids(const nlohmann::json& post_processor, std::size_t vocab_size,
                                         const std::string& origin);

}  // namespace troika::data
