#include "data/corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

namespace troika::data {
namespace fs = std::filesystem;

static bool is_binary(const std::string& path) {
  const base::MappedFile file(path);
  return file.text().substr(0, 8192).find('\0') != std::string_view::npos;
}

static bool has_json_lines(const std::string& name) {
  const std::string_view ending = ".jsonl";
  return name.size() >= ending.size() && name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
}

static void add_file(const std::string& path, const std::string& name, Corpus* corpus) {
  CorpusFile file{path, name, base::file_size(path), has_json_lines(name)};
  corpus->bytes += file.bytes;
  corpus->files.push_back(std::move(file));
}

static void add_folder(const std::string& path, const std::string& name, Corpus* corpus) {
  for (const std::string& entry : base::list_directory(path)) {
    if (entry[0] == '.') continue;
    const std::string below = path + "/" + entry, below_name = name.empty() ? entry : name + "/" + entry;
    std::error_code ignored;
    if (base::directory_exists(below)) {
      if (!fs::is_symlink(below, ignored)) add_folder(below, below_name, corpus);
    } else if (base::file_exists(below) && base::file_size(below) > 0) {
      if (is_binary(below)) {
        ++corpus->skipped_binary;
      } else {
        add_file(below, below_name, corpus);
      }
    }
  }
}

static void add_named_file(const std::string& path, Corpus* corpus) {
  if (base::file_size(path) == 0)
    throw base::DataError(fmt::format("'{}' is empty: give a file that holds text", path));
  if (is_binary(path)) {
    throw base::DataError(fmt::format("'{}' is not text (it holds NUL bytes): give text, JSONL or token shards", path));
  }
  add_file(path, fs::path(path).filename().string(), corpus);
}

Corpus find_corpus(const std::vector<std::string>& inputs) {
  Corpus corpus;
  for (const std::string& input : inputs) {
    if (base::directory_exists(input)) {
      const std::size_t before = corpus.files.size();
      add_folder(input, "", &corpus);
      if (corpus.files.size() == before) {
        throw base::DataError(
            fmt::format("the folder '{}' holds no text files ({} binary ones were passed over): give "
                        "a folder with text or .jsonl files",
                        input, corpus.skipped_binary));
      }
    } else if (base::file_exists(input)) {
      add_named_file(input, &corpus);
    } else {
      throw base::DataError(
          fmt::format("'{}' does not exist: give a text file, a .jsonl file, a folder of them, or a "
                      "folder of token shards",
                      input));
    }
  }
  if (corpus.files.empty()) throw base::DataError("no input was given: name a text file, a .jsonl file or a folder");
  return corpus;
}

std::string corpus_hash(const Corpus& corpus) {
  std::string all;
  for (const CorpusFile& file : corpus.files) {
    all += fmt::format("{}:{} {} {}\n", file.name.size(), file.name, file.bytes, base::hash_file(file.path));
  }
  return base::hash_bytes(all);
}

ChunkReader::ChunkReader(const Corpus& corpus, NextCut next_cut, std::size_t chunk_bytes)
    : corpus_(corpus), next_cut_(std::move(next_cut)), chunk_bytes_(chunk_bytes) {}

void ChunkReader::open_next_file() {
  file_ = std::make_shared<const base::MappedFile>(corpus_.files[file_index_].path);
  at_ = 0;
  line_ = 1;
}

static std::size_t behind_line(std::string_view text, std::size_t from) {
  const std::size_t newline = from < text.size() ? text.find('\n', from) : std::string_view::npos;
  return newline == std::string_view::npos ? text.size() : newline + 1;
}

std::optional<Chunk> ChunkReader::next() {
  while (file_ == nullptr || at_ >= file_->size()) {
    if (file_ != nullptr) ++file_index_, file_ = nullptr;
    if (file_index_ >= corpus_.files.size()) return std::nullopt;
    open_next_file();
  }
  const CorpusFile& source = corpus_.files[file_index_];
  const std::string_view all = file_->text(), rest = all.substr(at_);
  const std::size_t size = rest.size() <= chunk_bytes_ ? rest.size()
                           : source.json_lines         ? behind_line(rest, chunk_bytes_ - 1)
                                                       : next_cut_(rest, chunk_bytes_);
  Chunk chunk{file_,    rest.substr(0, size),    source.path, source.json_lines, line_, all,
              at_ == 0, at_ + size == all.size()};
  if (source.json_lines) line_ += std::count(chunk.text.begin(), chunk.text.end(), '\n');
  at_ += size;
  return chunk;
}

static std::string text_of_line(std::string_view line, const std::string& origin, const std::string& text_key) {
  try {
    return base::json_string(base::parse_json(line, origin), text_key, origin);
  } catch (base::DataError& error) {
    error.add_context(
        fmt::format("while reading JSON lines; each must be an object with the text under '{}' "
                    "(another key: --data.text-key KEY, or --text-key KEY of 'troika data')",
                    text_key));
    throw;
  }
}

void for_each_part(const Chunk& chunk, const std::string& text_key,
                   const std::function<void(const DocumentPart&)>& use) {
  if (!chunk.json_lines) return use({"", chunk.text, chunk.document, chunk.begins, chunk.ends});
  std::int64_t line_number = chunk.first_line;
  for (std::size_t at = 0; at < chunk.text.size(); ++line_number) {
    const std::size_t end = behind_line(chunk.text, at);
    const std::string_view line = chunk.text.substr(at, end - at);
    at = end;
    if (base::trim(line).empty()) continue;
    DocumentPart part;
    part.text = text_of_line(line, fmt::format("line {} of '{}'", line_number, chunk.path), text_key);
    part.view = part.document = part.text;
    if (!part.text.empty()) use(part);
  }
}

}  // namespace troika::data
