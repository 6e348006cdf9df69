// GGUF files: the header, the documents that are made of its keys, and the numbers of its tensors.
#include <algorithm>
#include <string>
#include <vector>

#include "fuzz/input.h"
#include "fuzz/memory_file.h"
#include "fuzz/outcome.h"
#include "gguf/architecture.h"
#include "gguf/header.h"
#include "gguf/model_config.h"
#include "gguf/tokenizer_document.h"

namespace troika::fuzz {

static void require_blocks_inside(const gguf::File& file) {
  const auto bytes = static_cast<std::int64_t>(file.mapping().size());
  for (const gguf::Tensor& tensor : file.header().tensors()) {
    require(tensor.begin >= 0 && tensor.bytes > 0 && tensor.bytes <= bytes - tensor.begin, "tensors lie in the file");
    if (tensor.type->dtype) continue;
    std::vector<float> numbers(300);
    const std::int64_t all = tensor.bytes / tensor.type->block_bytes * tensor.type->block_numbers;
    gguf::read_blocks(*tensor.type, file.mapping().data() + tensor.begin, all / 3,
                      std::min<std::int64_t>(300, all - all / 3), numbers.data());
  }
}

static void read_gguf(std::string_view content) {
  static MemoryFile memory;
  memory.set(content);
  accepted([&] {
    const gguf::File file(memory.path());
    require_blocks_inside(file);
    accepted([&] { gguf::published_tensors(file.header()); });
    accepted([&] { gguf::config_json(file); });
    accepted([&] { gguf::tokenizer_json(file.header()); });
    accepted([&] { gguf::tokenizer_config_json(file.header()); });
  });
}

}  // namespace troika::fuzz

TROIKA_FUZZ_TARGET(gguf)(const std::uint8_t* data, std::size_t size) {
  troika::fuzz::read_gguf(troika::fuzz::text_of(data, size));
  return 0;
}
