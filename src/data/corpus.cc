#include "data/corpus.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "base/counted.h"
#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "data/input_text.h"
#include "data/json_records.h"
#include "data/texts.h"

namespace troika::data {
namespace fs = std::filesystem;

static constexpr std::size_t looked_at_bytes = 8192;

static FileKind kind_of(std::string_view name, std::string_view first, JsonFiles json_files) {
  name = without_compression(name);
  const bool records = ends_with(name, ".jsonl") || (json_files == JsonFiles::records && ends_with(name, ".json"));
  if (!records) return FileKind::text;
  const std::size_t at = content_begin(first);
  return at != std::string_view::npos && first[at] == '[' ? FileKind::json_array : FileKind::json_lines;
}

// False for what is binary.
static bool add_file(const std::string& path, const std::string& name, JsonFiles json_files, Corpus* corpus) {
  const std::string first = first_text(path, looked_at_bytes);
  if (first.find('\0') != std::string::npos) return false;
  CorpusFile file{path, name, base::file_size(path), kind_of(name, first, json_files)};
  corpus->bytes += file.bytes;
  corpus->files.push_back(std::move(file));
  return true;
}

static void add_folder(const std::string& path, const std::string& name, JsonFiles json_files, Corpus* corpus) {
  for (const std::string& entry : base::list_directory(path)) {
    if (entry[0] == '.' || entry == "dataset_info.json") continue;
    const std::string below = path + "/" + entry, below_name = name.empty() ? entry : name + "/" + entry;
    std::error_code ignored;
    if (base::directory_exists(below)) {
      if (!fs::is_symlink(below, ignored)) add_folder(below, below_name, json_files, corpus);
    } else if (base::file_exists(below) && base::file_size(below) > 0) {
      if (!add_file(below, below_name, json_files, corpus)) ++corpus->skipped_binary;
    }
  }
}

static void add_named_file(const std::string& path, JsonFiles json_files, Corpus* corpus) {
  if (base::file_size(path) == 0) throw base::DataError(base::say(data_texts.empty_file, path));
  if (!add_file(path, fs::path(path).filename().string(), json_files, corpus)) {
    throw base::DataError(base::say(data_texts.no_text, path));
  }
}

Corpus find_corpus(const std::vector<std::string>& inputs, JsonFiles json_files) {
  Corpus corpus;
  for (const std::string& input : inputs) {
    if (base::directory_exists(input)) {
      const std::size_t before = corpus.files.size();
      add_folder(input, "", json_files, &corpus);
      if (corpus.files.size() == before) {
        throw base::DataError(
            base::say(data_texts.no_text_files, input,
                      base::counted_text(corpus.skipped_binary, "binary one was", "binary ones were")));
      }
    } else if (base::file_exists(input)) {
      add_named_file(input, json_files, &corpus);
    } else {
      throw base::DataError(base::say(data_texts.no_input_file, input));
    }
  }
  if (corpus.files.empty()) throw base::DataError(base::say(data_texts.no_input));
  return corpus;
}

std::string corpus_hash(const Corpus& corpus) {
  std::string all;
  for (const CorpusFile& file : corpus.files) {
    all += fmt::format("{}:{} {} {}\n", file.name.size(), file.name, file.bytes, base::hash_file(file.path));
  }
  return base::hash_bytes(all);
}

}  // namespace troika::data
