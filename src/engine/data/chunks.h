// The data of a corpus, cut into chunks that threads work on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/language.h"
#include "data/corpus.h"
#include "data/input_text.h"
#include "data/table.h"

namespace troika::data {

// A part of one file: whole records, or a stretch of a text document.
struct Chunk {
  std::shared_ptr<const InputText> file;  // keeps `text` alive
  std::string_view text;
  std::string path;
  FileKind kind = FileKind::text;
  std::int64_t first_record = 1;  // of lines and rows the number of the first line, from 1; of arrays the index, from 0
  std::string_view document;      // text files: the whole document
  bool begins = false, ends = false;  // text files: this chunk begins, ends the document
  std::int64_t number = 0;            // of the corpus, from 0
  std::int64_t input_bytes = 0;       // of the file as it lies on the disk; of all chunks together Corpus::bytes
  std::shared_ptr<const TableHeader> header = nullptr;  // of tables
};

// Gives the chunks of a corpus in order. Chunk borders depend on the data alone. One thread at a time.
class ChunkReader {
 public:
  // Where a text document may be cut: the contract of Tokenizer::next_cut.
  using NextCut = std::function<std::size_t(std::string_view text, std::size_t from)>;

  // Chunks are at least `chunk_bytes` long, except the last of a file.
  ChunkReader(const Corpus& corpus, NextCut next_cut, std::size_t chunk_bytes = 1 << 20);

  // Nothing at the end. DataError for a JSON array that does not end, or that is followed by something else, and as
  // table_header.
  std::optional<Chunk> next();

 private:
  void open_next_file();
  std::size_t cut(std::string_view rest);

  const Corpus& corpus_;
  NextCut next_cut_;
  std::size_t chunk_bytes_;
  std::size_t file_index_ = 0;
  std::shared_ptr<const InputText> file_;      // null between files
  std::shared_ptr<const TableHeader> header_;  // of a table
  std::size_t at_ = 0, begin_ = 0;             // the text begins there, behind a byte order mark
  std::int64_t record_ = 1, number_ = 0;
  std::int64_t counted_bytes_ = 0;  // of this file, in earlier chunks
};

// The records of a chunk as JSON, not parsed; empty lines are skipped. DataError when the file cannot be read, then also what
// `use` made of earlier records is worthless, for a record that is too large, and as record_of_row. `origin` names the place:
// "line 3 of 'x.jsonl'", "[2] of 'x.json'".
void for_each_record(const Chunk& chunk,
                     const std::function<void(std::string_view record, const base::Text& origin)>& use);

// The texts of one chunk: itself, or the value of `text_key` in each record. Throws DataError naming file, place and
// remedy.
struct DocumentPart {
  std::string text;           // set for records
  std::string_view view;      // the text; into `text` or the chunk
  std::string_view document;  // all of the document this is a part of
  bool begins = true, ends = true;
};
void for_each_part(const Chunk& chunk, const std::string& text_key,
                   const std::function<void(const DocumentPart&)>& use);

}  // namespace troika::data
