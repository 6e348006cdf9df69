#include "data/encoded_chunk.h"

#include "data/byte_stream.h"

namespace troika::data {

static std::string to_bytes(const std::vector<EncodedPart>& parts) {
  ByteWriter writer;
  writer.put(static_cast<std::int64_t>(parts.size()));
  for (const EncodedPart& part : parts) {
    writer.put(part.key);
    writer.put(part.begins);
    writer.put(part.ends);
    writer.put(part.ids);
  }
  return writer.bytes();
}

static std::vector<EncodedPart> from_bytes(std::string_view bytes) {
  ByteReader reader(bytes);
  std::vector<EncodedPart> parts;
  for (auto left = reader.get<std::int64_t>(); left > 0; --left) {
    EncodedPart part;
    part.key = reader.get<DocumentKey>();
    part.begins = reader.get<bool>();
    part.ends = reader.get<bool>();
    part.ids = reader.get_vector<std::int32_t>();
    parts.push_back(std::move(part));
  }
  return parts;
}

EncodedChunk encode_chunk(const Chunk& chunk, const std::string& text_key, const Tokenizer& tokenizer,
                          const PartStore& store) {
  EncodedChunk result{{}, chunk.input_bytes, false};
  if (const auto stored = store.get(chunk.number)) {
    result.parts = from_bytes(*stored);
    result.taken_up = true;
    return result;
  }
  for_each_part(chunk, text_key, [&](const DocumentPart& part) {
    const DocumentKey key = part.begins ? document_key(part.document) : DocumentKey();
    result.parts.push_back({key, part.begins, part.ends, tokenizer.encode(part.view)});
  });
  store.put(chunk.number, to_bytes(result.parts));
  return result;
}

}  // namespace troika::data
