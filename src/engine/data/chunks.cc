#include "data/chunks.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/say.h"
#include "data/json_records.h"
#include "data/file_content.h"

namespace troika::data {

ChunkReader::ChunkReader(const Corpus& corpus, NextCut next_cut, std::size_t chunk_bytes)
    : corpus_(corpus), next_cut_(std::move(next_cut)), chunk_bytes_(chunk_bytes) {}

void ChunkReader::open_next_file() {
  const CorpusFile& source = corpus_.files[file_index_];
  file_ = std::make_shared<const InputText>(source.path, corpus_.scratch);
  at_ = source.kind == FileKind::text && source.marked ? byte_order_mark.size() : 0;
  header_ = nullptr;
  record_ = source.kind == FileKind::json_array ? 0 : 1;
  file_->while_reading([&] {
    if (source.kind == FileKind::json_array) at_ = array_begin(file_->text(), source.path);
    if (source.kind != FileKind::table) return;
    header_ = std::make_shared<const TableHeader>(table_header(file_->text(), separator_of(source.path), source.path));
    at_ = header_->end;
    record_ = header_->line;
  });
  begin_ = at_;
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
  if (found.bytes == std::string_view::npos) throw base::DataError(base::say("'{}' ends inside its array of records: copy it again", path));
  return found;
}

// Behind the comma or bracket at `at`.
static std::size_t behind_element(std::string_view text, std::size_t at, const std::string& path) {
  if (text[at] == ',') return at + 1;
  const std::size_t more = text.find_first_not_of(" \t\r\n", at + 1);
  if (more == std::string_view::npos) return text.size();
  throw base::DataError(base::say("'{}' has text after its array of records, at byte {}", path, more));
}

static std::size_t behind_rows(std::string_view rest, std::size_t most_bytes, char separator) {
  std::size_t end = 0;
  while (end < std::min(most_bytes, rest.size())) end = row_end(rest, end, separator);
  return end;
}

std::size_t ChunkReader::cut(std::string_view rest) {
  const CorpusFile& source = corpus_.files[file_index_];
  if (source.kind == FileKind::table) {
    const std::size_t bytes = behind_rows(rest, chunk_bytes_, header_->separator);
    record_ += line_breaks(rest.substr(0, bytes));
    return bytes;
  }
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
  return Chunk{file_,           rest.substr(0, size),
               source.path,     source.kind,
               first_record,    all.substr(begin_),
               begin == begin_, at_ == all.size(),
               number_++,       behind - std::exchange(counted_bytes_, behind),
               header_};
}

static void for_each_line(const Chunk& chunk, const std::function<void(std::string_view, const base::Text&)>& use) {
  std::int64_t number = chunk.first_record;
  for (std::size_t at = 0, end = 0; at < chunk.text.size(); at = end, ++number) {
    end = behind_line(chunk.text, at);
    const std::string_view line = chunk.text.substr(at, end - at);
    if (is_blank(line)) continue;
    const base::Text origin = base::say("line {0} of '{1}'", number, chunk.path);
    refuse_split_object(line, origin);
    use(line, origin);
  }
}

static void for_each_element(const Chunk& chunk, const std::function<void(std::string_view, const base::Text&)>& use) {
  std::int64_t index = chunk.first_record;
  if (index == 0 && is_blank(chunk.text)) return;  // an empty array
  for (std::size_t at = 0; at <= chunk.text.size(); ++index) {
    const std::size_t end = std::min(element_end(chunk.text, at), chunk.text.size());
    const std::string_view element = chunk.text.substr(at, end - at);
    if (is_blank(element))
      throw base::DataError(base::say("[{0}] of '{1}' is followed by a comma and no record: remove the comma", index == 0 ? 0 : index - 1, chunk.path));
    use(element, base::say("[{0}] of '{1}'", index, chunk.path));
    at = end + 1;
  }
}

static void for_each_row(const Chunk& chunk, const std::function<void(std::string_view, const base::Text&)>& use) {
  std::int64_t line = chunk.first_record;
  for (std::size_t at = 0, end = 0; at < chunk.text.size(); at = end) {
    end = row_end(chunk.text, at, chunk.header->separator);
    const std::string_view row = chunk.text.substr(at, end - at);
    const base::Text origin = base::say("line {0} of '{1}'", line, chunk.path);
    line += line_breaks(row);
    if (is_empty_row(row)) continue;
    refuse_large_record(row.size(), origin);
    use(record_of_row(row, *chunk.header, origin), origin);
  }
}

void for_each_record(const Chunk& chunk,
                     const std::function<void(std::string_view record, const base::Text& origin)>& use) {
  const auto use_small = [&](std::string_view record, const base::Text& origin) {
    refuse_large_record(record.size(), origin);
    use(record, origin);
  };
  const auto read = chunk.kind == FileKind::table        ? for_each_row
                    : chunk.kind == FileKind::json_array ? for_each_element
                                                         : for_each_line;
  chunk.file->while_reading([&] { read(chunk, use_small); });
}

static std::string text_of(std::string_view record, const base::Text& origin, const std::string& text_key) {
  try {
    return base::json_string(base::parse_json(record, origin), text_key, origin);
  } catch (const base::DataError& error) {
    throw base::with_context(error, base::say("while reading JSON lines; each must be an object with the text under '{}' (another key: --data.text-key KEY, or --text-key KEY of 'troika data')", text_key));
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
