#include "data/prepare.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "data/corpus.h"
#include "data/document_filter.h"
#include "data/ordered_map.h"
#include "data/shard_index.h"

namespace troika::data {

namespace {

struct EncodedPart {
  DocumentKey key;
  bool begins, ends;
  std::vector<std::int32_t> ids;
};

struct EncodedChunk {
  std::vector<EncodedPart> parts;
  std::int64_t bytes = 0;
};

// Writes documents into as many shards as they fill.
class ShardSet {
 public:
  ShardSet(std::string folder, const Tokenizer& tokenizer, std::int64_t tokens_per_shard)
      : folder_(std::move(folder)), end_(tokenizer.end_of_document_id()), tokens_per_shard_(tokens_per_shard) {
    index_.vocab_size = tokenizer.vocab_size();
    index_.tokenizer_fingerprint = tokenizer.fingerprint();
  }

  void add(const EncodedPart& part) {
    if (!writer_) {
      name_ = fmt::format("tokens-{:05d}.bin", index_.shards.size());
      writer_.emplace(folder_ + "/" + name_, index_.vocab_size, index_.tokenizer_fingerprint);
    }
    writer_->append(part.ids);
    if (!part.ends) return;
    if (end_ >= 0) writer_->append({end_});
    writer_->end_document();
    if (writer_->tokens() >= tokens_per_shard_) close_shard();
  }

  std::int64_t tokens() const { return finished_tokens_ + (writer_ ? writer_->tokens() : 0); }

  ShardIndex finish(const std::string& source) {
    close_shard();
    index_.source = source;
    write_shard_index(folder_, index_);
    return index_;
  }

 private:
  void close_shard() {
    if (!writer_) return;
    const ShardHeader header = writer_->finish();
    writer_.reset();
    finished_tokens_ += header.tokens;
    index_.shards.push_back({name_, header.tokens, header.documents, header.payload_hash});
  }

  std::string folder_, name_;
  std::int32_t end_;
  std::int64_t tokens_per_shard_;
  ShardIndex index_;
  std::optional<ShardWriter> writer_;
  std::int64_t finished_tokens_ = 0;
};

// Removes a folder unless it was renamed away.
struct Scrap {
  std::string path;
  ~Scrap() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

}  // namespace

static EncodedChunk encode_chunk(const Chunk& chunk, const std::string& text_key, const Tokenizer& tokenizer) {
  EncodedChunk result;
  result.bytes = static_cast<std::int64_t>(chunk.text.size());
  for_each_part(chunk, text_key, [&](const DocumentPart& part) {
    const DocumentKey key = part.begins ? document_key(part.document) : DocumentKey();
    result.parts.push_back({key, part.begins, part.ends, tokenizer.encode(part.view)});
  });
  return result;
}

static void count_shards(const ShardIndex& index, PrepareReport* report) {
  report->shards = static_cast<std::int64_t>(index.shards.size());
  for (const ShardIndex::Entry& shard : index.shards) {
    report->tokens += shard.tokens;
    report->documents += shard.documents;
  }
}

static std::string source_key(const Corpus& corpus, const Tokenizer& tokenizer, const PrepareOptions& options) {
  return base::hash_bytes(fmt::format("1 {} {} {} {}", tokenizer.fingerprint(), corpus_hash(corpus),
                                      options.tokens_per_shard, options.text_key));
}

static PrepareReport prepare_corpus(const Corpus& corpus, const std::string& source, const Tokenizer& tokenizer,
                                    const std::string& folder, const PrepareOptions& options,
                                    const OnProgress& on_progress) {
  const Scrap partial{fmt::format("{}.partial.{}", folder, ::getpid())};
  base::remove_tree(partial.path);
  base::make_directories(partial.path);
  ShardSet shards(partial.path, tokenizer, options.tokens_per_shard);
  ChunkReader reader(corpus, [&](std::string_view text, std::size_t from) { return tokenizer.next_cut(text, from); });
  DocumentFilter filter;
  Progress progress{0, corpus.bytes, 0};
  const auto write = [&](EncodedChunk&& chunk) {
    for (const EncodedPart& part : chunk.parts) {
      if (filter.keeps(part.key, part.begins)) shards.add(part);
    }
    progress.done_bytes += chunk.bytes;
    progress.tokens = shards.tokens();
    if (on_progress) on_progress(progress);
  };
  OrderedMap<Chunk, EncodedChunk>::run(
      worker_count(options.workers), [&] { return reader.next(); },
      [&](Chunk& chunk) { return encode_chunk(chunk, options.text_key, tokenizer); }, write);
  if (shards.tokens() == 0) {
    throw base::DataError(
        fmt::format("'{}' holds no text, only empty documents: give a file with text", corpus.files[0].path));
  }
  PrepareReport report{corpus.bytes};
  count_shards(shards.finish(source), &report);
  report.duplicate_documents = filter.dropped();
  report.binary_files = corpus.skipped_binary;
  base::rename_path(partial.path, folder);
  return report;
}

static std::optional<PrepareReport> already_prepared(const std::string& folder, const std::string& source) {
  if (base::list_directory(folder).empty()) return std::nullopt;
  const bool same =
      base::file_exists(index_path(folder)) && looks_like_shards(folder) && read_shard_index(folder).source == source;
  if (!same) {
    throw base::ConfigError(
        fmt::format("the folder '{}' already holds something else than this data: choose another --out or "
                    "remove it",
                    folder));
  }
  TokenStream::open(folder);  // throws when damaged
  PrepareReport report;
  report.reused = true;
  count_shards(read_shard_index(folder), &report);
  return report;
}

static std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

PrepareReport prepare(const std::vector<std::string>& inputs, const Tokenizer& tokenizer, const std::string& folder,
                      const PrepareOptions& options, const OnProgress& on_progress) {
  const Corpus corpus = find_corpus(inputs);
  const std::string source = source_key(corpus, tokenizer, options), target = without_slash(folder);
  if (const auto report = already_prepared(target, source)) return *report;
  return prepare_corpus(corpus, source, tokenizer, target, options, on_progress);
}

static std::shared_ptr<const TokenStream> checked(TokenStream stream, const Tokenizer& tokenizer) {
  if (stream.tokenizer_fingerprint() != tokenizer.fingerprint() || stream.vocab_size() != tokenizer.vocab_size()) {
    throw base::DataError(
        fmt::format("the tokens in '{}' were made by another tokenizer (vocabulary {}, fingerprint {}) than the one "
                    "given (vocabulary "
                    "{}, fingerprint {}): give --data.tokenizer what 'troika data prepare' was given, or prepare again",
                    stream.path(), stream.vocab_size(), stream.tokenizer_fingerprint(), tokenizer.vocab_size(),
                    tokenizer.fingerprint()));
  }
  return std::make_shared<const TokenStream>(std::move(stream));
}

// The cached shards when they are there and sound.
static std::shared_ptr<const TokenStream> open_cached(const std::string& folder, const Tokenizer& tokenizer) {
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

std::shared_ptr<const TokenStream> open_or_prepare(const config::DataSettings& settings, const std::string& path,
                                                   const std::string& cache_folder, const Tokenizer& tokenizer,
                                                   const OnProgress& on_progress) {
  if (looks_like_shards(path)) return checked(TokenStream::open(path), tokenizer);
  PrepareOptions options;
  options.text_key = settings.text_key;
  options.workers = settings.workers;
  const Corpus corpus = find_corpus({path});
  const std::string source = source_key(corpus, tokenizer, options), folder = cache_folder + "/" + source;
  if (auto stream = open_cached(folder, tokenizer)) return stream;
  base::make_directories(cache_folder);
  const base::FileLock lock(cache_folder + "/" + source + ".lock");
  if (auto stream = open_cached(folder, tokenizer)) return stream;
  remove_partials(cache_folder, source);
  base::remove_tree(folder);
  prepare_corpus(corpus, source, tokenizer, folder, options, on_progress);
  return checked(TokenStream::open(folder), tokenizer);
}

}  // namespace troika::data
