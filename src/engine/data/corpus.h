// The raw data a run is made from: which files, in which order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/language.h"

namespace troika::data {

// The reasons why a part of a folder is not read.
enum class Why { binary, encoding, empty, link_out, link_nowhere, linked_folder, special, run, shards, no_records };

// Counted by reason, with the first name of each.
class LeftOut {
 public:
  void add(Why why, const std::string& name);
  std::int64_t count(Why why) const { return reasons_[static_cast<std::size_t>(why)].count; }
  bool empty() const;
  // "2 binary files ('a.png', ...), 1 link that leads out of the folder ('b')"; "" when there is nothing. Binary files
  // apart, which `troika data prepare` always counts.
  base::Text text() const;
  base::Text text_beside_binary() const;

 private:
  struct Reason {
    std::int64_t count = 0;
    std::string first;
  };
  base::Text text_from(std::size_t reason) const;

  std::array<Reason, 10> reasons_ = {};
};

// The content of a file: one document, or records: of JSON, an object a line or an array of objects; a row of a table each.
enum class FileKind { text, json_lines, json_array, table };

struct CorpusFile {
  std::string path;
  std::string name;  // below the input that named it; the same on every host
  std::int64_t bytes = 0;
  FileKind kind = FileKind::text;
  bool marked = false;  // begins with a byte order mark, which is no part of its text
};

struct Corpus {
  std::vector<CorpusFile> files;
  std::int64_t bytes = 0;
  LeftOut left_out;  // of folders
  std::vector<std::string>
      not_utf8;         // names of files of text that have other bytes near their beginning, which are kept
  std::string scratch;  // where files are decompressed to, see InputText
};

// The files read as records. Always those that end in .jsonl, .ndjson, .jsonlines or .jl, in capitals too; as an array
// where the first character says so.
enum class JsonFiles {
  documents,  // and a table (.csv, .tsv) that is named itself. A named file of another ending that holds records is refused
  as_text,  // nothing else
  records   // and .json files, tables, and files of other endings that hold records
};

// Files as given; folders recursively, names in byte order, without hidden names (.git), without dataset_info.json,
// which describes data. Of a folder LeftOut counts what is not read: empty and binary files, links to folders, links that leave the
// folder or lead nowhere, special files, folders of runs and of token shards. Each may be compressed (.gz, .zst). Throws DataError
// when an input is missing, empty, a pipe or a run's folder, or a named file or a file of records is binary, or nothing is left.
Corpus find_corpus(const std::vector<std::string>& inputs, JsonFiles json_files = JsonFiles::documents);

// 16 hex digits over the names, sizes, kinds and contents of all files: reads everything once.
std::string corpus_hash(const Corpus& corpus);

// Whether folders of data pass over the folder at `path`: it is a run's, or holds token shards.
bool is_run_folder(const std::string& path);
bool is_passed_over(const std::string& path);

// Whether `path` is, after all links are followed, in `folder`. False when it leads nowhere.
bool lies_in(const std::string& path, const std::string& folder);

// Something that is neither a file nor a folder, such as a pipe, which cannot be read twice. DataError then.
void refuse_special_file(const std::string& path);

}  // namespace troika::data
