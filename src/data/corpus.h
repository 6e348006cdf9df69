// The raw data a run is made from: which files, in which order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troika::data {

// What a file holds: one document, or records of JSON, an object a line or an array of objects.
enum class FileKind { text, json_lines, json_array };

struct CorpusFile {
  std::string path;
  std::string name;  // below the input that named it; the same on every host
  std::int64_t bytes = 0;
  FileKind kind = FileKind::text;
};

struct Corpus {
  std::vector<CorpusFile> files;
  std::int64_t bytes = 0;
  std::int64_t skipped_binary = 0;  // files of folders that hold a NUL byte in their first 8 KiB
  std::string scratch;              // where files are decompressed to, see InputText
};

// Whether .json files are records too, as .jsonl files always are. Records are an array when the first character says
// so.
enum class JsonFiles { documents, records };

// Files as given; folders recursively, names in byte order, without hidden names (.git), without dataset_info.json,
// which describes data, without empty and binary files, and without following links to folders. Each may be
// compressed (.gz, .zst). Throws DataError when an input is missing, or empty, or a named file is binary, or nothing
// is left.
Corpus find_corpus(const std::vector<std::string>& inputs, JsonFiles json_files = JsonFiles::documents);

// 16 hex digits over the names, sizes and contents of all files: reads everything once.
std::string corpus_hash(const Corpus& corpus);

}  // namespace troika::data
