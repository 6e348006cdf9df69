#include "datasets/encoded_records.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "data/byte_stream.h"
#include "datasets/conversations.h"

namespace troika::datasets {

static std::string to_bytes(const EncodedRecords& records) {
  data::ByteWriter writer;
  writer.put(records.sequences_of_record);
  writer.put(records.lengths);
  writer.put(records.ids);
  writer.put(records.has_loss);
  return writer.bytes();
}

static void from_bytes(std::string_view bytes, EncodedRecords* records) {
  data::ByteReader reader(bytes);
  records->sequences_of_record = reader.get_vector<std::uint32_t>();
  records->lengths = reader.get_vector<std::uint64_t>();
  records->ids = reader.get_vector<std::int32_t>();
  records->has_loss = reader.get_vector<std::uint8_t>();
}

// A piece by itself: the ids behind its border are those of generation. Where no text is the tokenizer's end mark (bytes),
// its id stands behind an answer.
static void add_sequence(const std::vector<Piece>& pieces, const Encoding& encoding, EncodedRecords* records) {
  const std::size_t before = records->ids.size();
  const std::int32_t end = encoding.tokenizer.end_of_document_id();
  const bool end_is_no_text = encoding.chat_template.end_mark().empty() && end >= 0;
  for (const Piece& piece : pieces) {
    std::vector<std::int32_t> ids = encoding.tokenizer.encode(piece.text);
    if (piece.has_loss && end_is_no_text) ids.push_back(end);
    records->ids.insert(records->ids.end(), ids.begin(), ids.end());
    records->has_loss.insert(records->has_loss.end(), ids.size(), piece.has_loss ? 1 : 0);
  }
  if (records->ids.size() == before) return;
  records->lengths.push_back(records->ids.size() - before);
  ++records->sequences_of_record.back();
}

static void add_record(std::string_view record, const std::string& origin, const Encoding& encoding,
                       EncodedRecords* records) {
  const Conversation conversation = conversation_of(base::parse_ordered_json(record, origin), encoding.shape, origin);
  records->sequences_of_record.push_back(0);
  try {
    for (const std::vector<Piece>& pieces : encoding.chat_template.samples(conversation, encoding.loss_on))
      add_sequence(pieces, encoding, records);
  } catch (base::DataError& error) {
    error.add_context(fmt::format("while rendering {}", origin));
    throw;
  }
}

EncodedRecords encode_records(const data::Chunk& chunk, const Encoding& encoding, const data::PartStore& store) {
  EncodedRecords records;
  records.input_bytes = chunk.input_bytes;
  if (const auto stored = store.get(chunk.number)) {
    from_bytes(*stored, &records);
    records.taken_up = true;
    return records;
  }
  data::for_each_record(chunk, [&](std::string_view record, const std::string& origin) {
    add_record(record, origin, encoding, &records);
  });
  store.put(chunk.number, to_bytes(records));
  return records;
}

}  // namespace troika::datasets
