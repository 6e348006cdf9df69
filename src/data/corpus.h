// The raw text a run is made from: which files, in which order, cut into chunks that threads work on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace troika::data {

struct CorpusFile {
  std::string path;
  std::string name;  // below the input that named it; the same on every host
  std::int64_t bytes = 0;
  bool json_lines = false;  // by the ending .jsonl: one object a line, each a document; else the file is one document
};

struct Corpus {
  std::vector<CorpusFile> files;
  std::int64_t bytes = 0;
  std::int64_t skipped_binary = 0;  // files of folders that hold a NUL byte in their first 8 KiB
};

// Files as given; folders recursively, names in byte order, without hidden names (.git), without empty and binary
// files, and without following links to folders. Throws DataError when an input is missing, or empty, or a named file
// is binary, or nothing is left.
Corpus find_corpus(const std::vector<std::string>& inputs);

// 16 hex digits over the names, sizes and contents of all files: reads everything once.
std::string corpus_hash(const Corpus& corpus);

// A part of one file: whole lines of JSON, or a stretch of a text document.
struct Chunk {
  std::shared_ptr<const base::MappedFile> file;  // keeps `text` alive
  std::string_view text;
  std::string path;
  bool json_lines = false;
  std::int64_t first_line = 1;        // of the file, for messages
  std::string_view document;          // text files: the whole document
  bool begins = false, ends = false;  // text files: this chunk begins, ends the document
};

// Gives the chunks of a corpus in order. Chunk borders depend on the text alone. One thread at a time.
class ChunkReader {
 public:
  // Where a text document may be cut: the contract of Tokenizer::next_cut.
  using NextCut = std::function<std::size_t(std::string_view text, std::size_t from)>;

  // Chunks are at least `chunk_bytes` long, except the last of a file.
  ChunkReader(const Corpus& corpus, NextCut next_cut, std::size_t chunk_bytes = 1 << 20);

  std::optional<Chunk> next();  // nothing at the end

 private:
  void open_next_file();

  const Corpus& corpus_;
  NextCut next_cut_;
  std::size_t chunk_bytes_;
  std::size_t file_index_ = 0;
  std::shared_ptr<const base::MappedFile> file_;  // null between files
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
};

// The texts of one chunk: itself, or the member `text_key` of each line (empty lines are passed over).
// Throws DataError naming file, line and remedy.
struct DocumentPart {
  std::string text;           // set for lines of JSON
  std::string_view view;      // the text; into `text` or the chunk
  std::string_view document;  // all of the document this is a part of
  bool begins = true, ends = true;
};
void for_each_part(const Chunk& chunk, const std::string& text_key,
                   const std::function<void(const DocumentPart&)>& use);

}  // namespace troika::data
