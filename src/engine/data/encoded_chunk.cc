#include "data/encoded_chunk.h"

#include <xxhash.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/say.h"
#include "data/conversations.h"
#include "data/plain_text.h"

namespace troika::data {

DocumentKey document_key(std::string_view document) {
  const XXH128_hash_t hash = XXH3_128bits(document.data(), document.size());
  return {hash.low64, hash.high64};
}

bool DocumentFilter::keeps(const DocumentKey& key, bool begins) {
  if (begins) {
    keeping_ = seen_.insert(key).second;
    if (!keeping_) ++dropped_;
  }
  return keeping_;
}

// At the begin of a part file, with the bytes that an id takes in it.
static constexpr std::uint64_t part_mark = 0x5452504152543300;

static std::string to_bytes(const std::vector<EncodedPart>& parts, bool are_narrow) {
  const std::size_t id_bytes = are_narrow ? sizeof(std::uint16_t) : sizeof(std::int32_t);
  std::size_t size = 16;
  for (const EncodedPart& part : parts) size += sizeof part + id_bytes * part.ids.size();
  ByteWriter writer(size);
  writer.put(part_mark + id_bytes);
  writer.put(static_cast<std::int64_t>(parts.size()));
  std::vector<std::uint16_t> narrow;
  for (const EncodedPart& part : parts) {
    writer.put(part.key);
    writer.put(part.begins);
    writer.put(part.ends);
    writer.put(part.dropped_bytes);
    if (are_narrow) {
      narrow_ids(part.ids, &narrow);
      writer.put(narrow);
    } else {
      writer.put(part.ids);
    }
  }
  return std::move(writer).bytes();
}

template <class Id>
static std::vector<EncodedPart> read_parts(ByteReader reader) {
  std::vector<EncodedPart> parts;
  for (auto left = reader.get<std::int64_t>(); left > 0; --left) {
    EncodedPart part;
    part.key = reader.get<DocumentKey>();
    part.begins = reader.get<bool>();
    part.ends = reader.get<bool>();
    part.dropped_bytes = reader.get<std::int64_t>();
    const auto ids = reader.get_vector<Id>();
    part.ids.assign(ids.begin(), ids.end());
    parts.push_back(std::move(part));
  }
  return parts;
}

// Nothing for those that another version wrote.
static std::optional<std::vector<EncodedPart>> from_bytes(std::string_view bytes) {
  ByteReader reader(bytes);
  const auto mark = reader.get<std::uint64_t>();
  if (mark == part_mark + sizeof(std::uint16_t)) return read_parts<std::uint16_t>(reader);
  if (mark == part_mark + sizeof(std::int32_t)) return read_parts<std::int32_t>(reader);
  return std::nullopt;
}

EncodedChunk encode_chunk(const Chunk& chunk, const std::string& text_key, const tokenizer::Tokenizer& tokenizer,
                          const PartStore& store) {
  EncodedChunk result{{}, chunk.input_bytes, false};
  const auto stored = store.get(chunk.number);
  if (auto parts = stored ? from_bytes(*stored) : std::nullopt) {
    result.parts = std::move(*parts);
    result.reused = true;
    return result;
  }
  for_each_part(chunk, text_key, [&](const DocumentPart& part) {
    const DocumentKey key = part.begins ? document_key(part.document) : DocumentKey();
    const auto before = part.begins ? tokenizer::Before::nothing : tokenizer::Before::text;
    result.parts.push_back({key, part.begins, part.ends, tokenizer.dropped_bytes(part.view),
                            tokenizer.encode_with_plain(part.view, {}, before)});
  });
  store.put(chunk.number, to_bytes(result.parts, tokenizer.vocab_size() <= narrow_vocab_size));
  return result;
}

static std::string to_bytes(const EncodedRecords& records) {
  ByteWriter writer;
  writer.put(records.sequences_of_record);
  writer.put(records.lengths);
  writer.put(records.ids);
  writer.put(records.has_loss);
  nlohmann::json findings = nlohmann::json::array();
  for (const auto& [record, found] : records.findings) findings.push_back({record, found.to_text()});
  const std::string text = findings.dump();
  writer.put(std::vector<char>(text.begin(), text.end()));
  return std::move(writer).bytes();
}

static void from_bytes(std::string_view bytes, EncodedRecords* records) {
  ByteReader reader(bytes);
  records->sequences_of_record = reader.get_vector<std::uint32_t>();
  records->lengths = reader.get_vector<std::uint64_t>();
  records->ids = reader.get_vector<std::int32_t>();
  records->has_loss = reader.get_vector<std::uint8_t>();
  const std::vector<char> findings = reader.get_vector<char>();
  for (const auto& found : nlohmann::json::parse(findings))
    records->findings.emplace_back(found[0].get<std::uint32_t>(), Findings::from_text(found[1].get<std::string>()));
}

// A span by itself: the ids after its border are those of generation. Where no text is the tokenizer's end mark (bytes),
// its id is after an answer.
static void add_sequence(const std::vector<TextSpan>& spans, const std::string& mark, const Encoding& encoding,
                         EncodedRecords* records) {
  const std::size_t before = records->ids.size();
  const std::int32_t end = encoding.tokenizer.end_of_document_id();
  std::vector<std::int32_t> last;  // of the span before
  const bool end_is_no_text = encoding.chat_template.end_mark().empty() && end >= 0;
  for (const TextSpan& span : spans) {
    std::vector<std::int32_t> ids =
        encode_marked(span.text, mark, encoding.tokenizer, encoding.tokenizer.before_next(last));
    if (span.has_loss && end_is_no_text) ids.push_back(end);
    records->ids.insert(records->ids.end(), ids.begin(), ids.end());
    records->has_loss.insert(records->has_loss.end(), ids.size(), span.has_loss ? 1 : 0);
    if (!ids.empty()) last = std::move(ids);
  }
  if (records->ids.size() == before) return;
  records->lengths.push_back(records->ids.size() - before);
  ++records->sequences_of_record.back();
}

static Findings control_tokens_of(const Conversation& conversation, const Encoding& encoding, base::Origin origin) {
  Findings findings;
  for_each_control_token(conversation, encoding.tokenizer, [&](const std::string& token, const std::string& place) {
    if (encoding.control_tokens == config::ControlTokens::refuse)
      throw base::DataError(base::say("{}: {} holds the control token {}, and data.control_tokens is refuse: change the text, or set it to text, which spells such tokens out", origin, place, token));
    if (findings.none()) findings.add(Findings::with_control);
    findings.add(Findings::control, token);
  });
  return findings;
}

static void add_record(std::string_view record, base::Origin origin, const Encoding& encoding,
                       EncodedRecords* records) {
  Conversation conversation =
      conversation_of(base::parse_ordered_json(record, origin), encoding.shape, origin, encoding.loss_on);
  Findings findings = control_tokens_of(conversation, encoding, origin);
  const std::string mark = encoding.control_tokens == config::ControlTokens::text
                               ? mark_control_tokens(encoding.tokenizer, Plain::all, &conversation)
                               : "";
  records->sequences_of_record.push_back(0);
  try {
    for (const std::vector<TextSpan>& spans : encoding.chat_template.samples(conversation, encoding.loss_on, &findings))
      add_sequence(spans, mark, encoding, records);
    if (!findings.none()) records->findings.emplace_back(records->sequences_of_record.size() - 1, std::move(findings));
  } catch (const base::DataError& error) {
    throw base::with_context(error, base::say("while rendering {}", origin));
  }
}

bool is_taught(const std::uint8_t* has_loss, std::size_t length) {
  return std::find(has_loss + 1, has_loss + length, 1) != has_loss + length;
}

static std::int64_t longest_taught(const EncodedRecords& records) {
  std::int64_t longest = 0;
  std::size_t at = 0;
  for (const std::uint64_t length : records.lengths) {
    if (is_taught(&records.has_loss[at], length)) longest = std::max(longest, static_cast<std::int64_t>(length));
    at += length;
  }
  return longest;
}

std::optional<LongRecord> find_longer(const Corpus& corpus, const Encoding& encoding, std::int64_t most) {
  ChunkReader reader(corpus, {});
  std::optional<LongRecord> found;
  for (std::optional<Chunk> chunk; !found && (chunk = reader.next());) {
    for_each_record(*chunk, [&](std::string_view record, const base::Text& origin) {
      if (found) return;
      EncodedRecords one;
      add_record(record, origin, encoding, &one);
      if (const std::int64_t length = longest_taught(one); length > most) found = LongRecord{origin, length};
    });
  }
  return found;
}

EncodedRecords encode_records(const Chunk& chunk, const Encoding& encoding, const PartStore& store) {
  EncodedRecords records;
  records.input_bytes = chunk.input_bytes;
  if (const auto stored = store.get(chunk.number)) {
    from_bytes(*stored, &records);
    records.reused = true;
    return records;
  }
  for_each_record(chunk, [&](std::string_view record, const base::Text& origin) {
    add_record(record, origin, encoding, &records);
  });
  store.put(chunk.number, to_bytes(records));
  return records;
}

}  // namespace troika::data
