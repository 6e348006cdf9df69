#include "data/chunks.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"
#include "data/json_records.h"
#include "data/texts.h"

namespace troika::data {

ChunkReader::ChunkReader(const Corpus& corpus, NextCut next_cut, std::size_t chunk_bytes)
    : corpus_(corpus), next_cut_(std::move(next_cut)), chunk_bytes_(chunk_bytes) {}

void ChunkReader::open_next_file() {
  const CorpusFile& source = corpus_.files[file_index_];
  file_ = std::make_shared<const InputText>(source.path, corpus_.scratch);
  at_ = 0;
  if (source.kind == FileKind::json_array) file_->while_reading([&] { at_ = array_begin(file_->text(), source.path); });
  record_ = source.kind == FileKind::json_array ? 0 : 1;
  counted_bytes_ = 0;
}

static std::size_t behind_line(std::string_view text, std::size_t from) {
  const std::size_t newline = from < text.size() ? text.find('\n', from) : std::string_view::npos;
  return newline == std::string_view::npos ? text.size() : newline + 1;
}

namespace {
struct Elements {
  std::size_t bytes = 0;
  std::int64_t count = 0;
};
}  // namespace

// As many as reach `most_bytes`; `rest` begins after a bracket or a comma.
static Elements cut_elements(std::string_view rest, std::size_t most_bytes, const std::string& path) {
  Elements found{element_end(rest, 0), 1};
  while (found.bytes < most_bytes && rest[found.bytes] == ',')
    found = {element_end(rest, found.bytes + 1), found.count + 1};
  if (found.bytes == std::string_view::npos) throw base::DataError(base::say(data_texts.ends_inside, path));
  return found;
}

// Behind the comma or bracket at `at`.
static std::size_t behind_element(std::string_view text, std::size_t at, const std::string& path) {
  if (text[at] == ',') return at + 1;
  const std::size_t more = text.find_first_not_of(" \t\r\n", at + 1);
  if (more == std::string_view::npos) return text.size();
  throw base::DataError(base::say(data_texts.text_after, path, more));
}

std::size_t ChunkReader::cut(std::string_view rest) {
  const CorpusFile& source = corpus_.files[file_index_];
  if (source.kind == FileKind::json_array) {
    const Elements found = cut_elements(rest, chunk_bytes_, source.path);
    record_ += found.count;
    return found.bytes;
  }
  if (source.kind == FileKind::text) return rest.size() <= chunk_bytes_ ? rest.size() : next_cut_(rest, chunk_bytes_);
  const std::size_t size = behind_line(rest, chunk_bytes_ - 1);
  record_ += std::count(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(size), '\n');
  return size;
}

std::optional<Chunk> ChunkReader::next() {
  while (file_ == nullptr || at_ >= file_->text().size()) {
    if (file_ != nullptr) ++file_index_, file_ = nullptr;
    if (file_index_ >= corpus_.files.size()) return std::nullopt;
    open_next_file();
  }
  const CorpusFile& source = corpus_.files[file_index_];
  const std::string_view all = file_->text(), rest = all.substr(at_);
  const std::int64_t first_record = record_;
  const std::size_t begin = at_;
  std::size_t size = 0;
  file_->while_reading([&] {
    size = cut(rest);
    at_ += size;
    if (source.kind == FileKind::json_array) at_ = behind_element(all, at_, source.path);
  });
  const double share = static_cast<double>(at_) / static_cast<double>(all.size());
  const auto behind = static_cast<std::int64_t>(share * static_cast<double>(file_->stored_bytes()));
  return Chunk{
      file_, rest.substr(0, size), source.path,       source.kind, first_record,
      all,   begin == 0,           at_ == all.size(), number_++,   behind - std::exchange(counted_bytes_, behind)};
}

static void for_each_line(const Chunk& chunk, const std::function<void(std::string_view, const base::Text&)>& use) {
  std::int64_t number = chunk.first_record;
  for (std::size_t at = 0; at < chunk.text.size(); ++number) {
    const std::size_t end = behind_line(chunk.text, at);
    const std::string_view line = chunk.text.substr(at, end - at);
    at = end;
    if (!base::trim(line).empty()) use(line, base::say(data_texts.line, number, chunk.path));
  }
}

static void for_each_element(const Chunk& chunk, const std::function<void(std::string_view, const base::Text&)>& use) {
  if (base::trim(chunk.text).empty()) return;
  std::int64_t index = chunk.first_record;
  for (std::size_t at = 0; at <= chunk.text.size(); ++index) {
    const std::size_t end = std::min(element_end(chunk.text, at), chunk.text.size());
    use(chunk.text.substr(at, end - at), base::say(data_texts.element, index, chunk.path));
    at = end + 1;
  }
}

void for_each_record(const Chunk& chunk,
                     const std::function<void(std::string_view record, const base::Text& origin)>& use) {
  chunk.file->while_reading(
      [&] { chunk.kind == FileKind::json_array ? for_each_element(chunk, use) : for_each_line(chunk, use); });
}

static std::string text_of(std::string_view record, const base::Text& origin, const std::string& text_key) {
  try {
    return base::json_string(base::parse_json(record, origin), text_key, origin);
  } catch (const base::DataError& error) {
    throw base::with_context(error, base::say(data_texts.while_reading_lines, text_key));
  }
}

void for_each_part(const Chunk& chunk, const std::string& text_key,
                   const std::function<void(const DocumentPart&)>& use) {
  if (chunk.kind == FileKind::text)
    return chunk.file->while_reading([&] { use({"", chunk.text, chunk.document, chunk.begins, chunk.ends}); });
  for_each_record(chunk, [&](std::string_view record, const base::Text& origin) {
    DocumentPart part;
    part.text = text_of(record, origin, text_key);
    part.view = part.document = part.text;
    if (!part.text.empty()) use(part);
  });
}

}  // namespace troika::data
