#include "data/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/mapping_guard.h"
#include "base/say.h"
#include "data/made_once.h"
#include "data/piece_hashes.h"
#include "data/prepare_corpus.h"
#include "data/shard_index.h"

namespace troika::data {

static bool has_piece_hashes(const std::string& folder, const ShardIndex::Entry& entry) {
  return !entry.piece_hashes.empty() && base::file_exists(piece_hashes_path(folder + "/" + entry.file));
}

// Shards of a version that wrote none, or that lost them, get theirs. They have just been verified.
static void add_piece_hashes(const std::string& folder) {
  ShardIndex index = read_shard_index(folder);
  for (ShardIndex::Entry& entry : index.shards) {
    const std::string path = folder + "/" + entry.file;
    if (has_piece_hashes(folder, entry)) continue;
    const base::MappedFile file(path);
    PieceHasher hasher;
    base::while_reading(file, [&] { hasher.add(file.text().substr(shard_header_bytes)); });
    base::write_file_atomic(piece_hashes_path(path), encode_piece_hashes({entry.payload_hash, hasher.finish()}));
    entry.piece_hashes = piece_hashes_path(entry.file);
  }
  write_shard_index(folder, index);
}

static bool lacks_piece_hashes(const std::string& folder) {
  const ShardIndex index = read_shard_index(folder);
  return !std::all_of(index.shards.begin(), index.shards.end(),
                      [&](const ShardIndex::Entry& entry) { return has_piece_hashes(folder, entry); });
}

static std::optional<PrepareReport> already_prepared(const std::string& folder, const std::string& source) {
  if (base::file_exists(folder)) throw base::ConfigError(base::say("'{}' is a file: name a folder with --out, new or empty", folder));
  if (base::list_directory(folder).empty()) return std::nullopt;
  const bool same =
      base::file_exists(index_path(folder)) && looks_like_shards(folder) && read_shard_index(folder).source == source;
  if (!same) {
    throw base::ConfigError(base::say("the folder '{}' already holds other data: choose another --out or remove it", folder));
  }
  TokenStream::open(folder, Verify::contents);  // throws when damaged
  if (lacks_piece_hashes(folder)) add_piece_hashes(folder);
  PrepareReport report;
  report.reused = true;
  count_shards(read_shard_index(folder), &report);
  return report;
}

static std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

static std::string parent_of(const std::string& folder) {
  const std::string parent = std::filesystem::path(folder).parent_path().string();
  return parent.empty() ? "." : parent;
}

PrepareReport prepare(const std::vector<std::string>& inputs, const tokenizer::Tokenizer& tokenizer,
                      const std::string& folder, const PrepareOptions& options, const OnProgress& on_progress) {
  Corpus corpus = find_corpus(inputs, options.json_files);
  const std::string source = source_key(corpus, tokenizer, options), target = without_slash(folder);
  corpus.scratch = parent_of(target);
  if (const auto report = already_prepared(target, source)) return *report;
  return prepare_corpus(corpus, source, tokenizer, target, options, on_progress);
}

static std::shared_ptr<const TokenStream> checked(TokenStream stream, const tokenizer::Tokenizer& tokenizer) {
  if (stream.tokenizer_fingerprint() != tokenizer.fingerprint() || stream.vocab_size() != tokenizer.vocab_size()) {
    throw base::DataError(base::say("the tokens in '{}' were made by another tokenizer (vocabulary {}, fingerprint {}) than the one given (vocabulary {}, fingerprint {}): give --data.tokenizer what 'troika data prepare' was given, or prepare again", stream.path(), stream.vocab_size(),
                                    stream.tokenizer_fingerprint(), tokenizer.vocab_size(), tokenizer.fingerprint()));
  }
  return std::make_shared<const TokenStream>(std::move(stream));
}

// The cached shards when they are there and sound.
static std::shared_ptr<const TokenStream> open_cached(const std::string& folder,
                                                      const tokenizer::Tokenizer& tokenizer) {
  if (!base::file_exists(index_path(folder))) return nullptr;
  try {
    return checked(TokenStream::open(folder), tokenizer);
  } catch (const base::DataError&) {
    return nullptr;  // what a cache lost is made again
  }
}

// Left by processes that were killed; only the holder of the lock calls this.
static void remove_partials(const std::string& cache_folder, const std::string& source) {
  for (const std::string& name : base::list_directory(cache_folder)) {
    if (name.rfind(source + ".partial.", 0) == 0) base::remove_tree(cache_folder + "/" + name);
  }
}

std::shared_ptr<const TokenStream> open_shards(const std::string& path, const tokenizer::Tokenizer& tokenizer) {
  return checked(TokenStream::open(path), tokenizer);
}

std::shared_ptr<const TokenStream> prepare_once(const std::vector<std::string>& inputs,
                                                const tokenizer::Tokenizer& tokenizer, const std::string& cache_folder,
                                                const PrepareOptions& options, const OnProgress& on_progress) {
  Corpus corpus = find_corpus(inputs, options.json_files);
  corpus.scratch = cache_folder;
  base::make_directories(cache_folder);
  const std::string source = source_key(corpus, tokenizer, options), folder = cache_folder + "/" + source;
  const auto make = [&](const OnProgress& tell) {
    remove_partials(cache_folder, source);
    base::remove_tree(folder);
    prepare_corpus(corpus, source, tokenizer, folder, options, tell);
  };
  if (auto stream = made_once<const TokenStream>(
          folder, [&] { return open_cached(folder, tokenizer); }, make, on_progress))
    return stream;
  return open_shards(folder, tokenizer);
}

}  // namespace troika::data
