#include "data/prepare.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/mapping_guard.h"
#include "base/say.h"
#include "base/text.h"
#include "data/ordered_map.h"
#include "data/shard_index.h"

namespace troika::data {
namespace {

// Writes documents, one of equals, into as many shards as they fill, until there are enough. Each document ends with the tokenizer's
// end mark. DataError when the disk refuses. One thread at a time.
class ShardSet {
 public:
  ShardSet(std::string folder, const tokenizer::Tokenizer& tokenizer, const PrepareOptions& options)
      : folder_(std::move(folder)), end_(tokenizer.end_of_document_id()), options_(options) {
    index_.vocab_size = tokenizer.vocab_size();
    index_.tokenizer_fingerprint = tokenizer.fingerprint();
  }

  // In the order of the chunks.
  void add(const EncodedChunk& chunk) {
    for (const EncodedPart& part : chunk.parts) {
      if (part.begins) ++documents_;
      const bool over = options_.max_documents > 0 && documents_ > options_.max_documents;
      if (!over && filter_.keeps(part.key, part.begins)) write(part);
      if (part.ends && documents_ == options_.max_documents) full_ = true;
    }
  }
  bool full() const { return full_; }
  std::int64_t duplicates() const { return filter_.dropped(); }
  std::int64_t tokens() const { return finished_tokens_ + (writer_ ? writer_->tokens() : 0); }

  // Writes the index, which names `source`.
  ShardIndex finish(const std::string& source) {
    close_shard();
    index_.source = source;
    write_shard_index(folder_, index_);
    return index_;
  }

 private:
  void write(const EncodedPart& part) {
    if (!writer_) {
      name_ = fmt::format("tokens-{:05d}.bin", index_.shards.size());
      writer_.emplace(folder_ + "/" + name_, index_.vocab_size, index_.tokenizer_fingerprint);
    }
    writer_->append(part.ids);
    index_.dropped_bytes += part.dropped_bytes;
    if (!part.ends) return;
    if (end_ >= 0) writer_->append({end_});
    writer_->end_document();
    if (writer_->tokens() >= options_.tokens_per_shard) close_shard();
  }

  void close_shard() {
    if (!writer_) return;
    const ShardHeader header = writer_->finish();
    writer_.reset();
    finished_tokens_ += header.tokens;
    index_.shards.push_back({name_, header.tokens, header.documents, header.payload_hash, piece_hashes_path(name_)});
  }

  const std::string folder_;
  const std::int32_t end_;
  const PrepareOptions& options_;
  std::string name_;
  ShardIndex index_;
  std::optional<ShardWriter> writer_;
  std::int64_t finished_tokens_ = 0, documents_ = 0;
  bool full_ = false;
  DocumentFilter filter_;
};

PrepareReport report_of(const ShardIndex& index) {
  PrepareReport report;
  report.dropped_bytes = index.dropped_bytes;
  report.shards = static_cast<std::int64_t>(index.shards.size());
  for (const ShardIndex::Entry& shard : index.shards) {
    report.tokens += shard.tokens;
    report.documents += shard.documents;
  }
  return report;
}

// 16 hex digits over all that decides the shards; reads the whole corpus.
std::string source_key(const Corpus& corpus, const tokenizer::Tokenizer& tokenizer, const PrepareOptions& options) {
  return base::hash_bytes(fmt::format("2 {} {} {} {} {}", tokenizer.fingerprint(), corpus_hash(corpus),
                                      options.tokens_per_shard, options.text_key, options.max_documents));
}

// Removes a folder unless it was renamed away.
struct Scrap {
  std::string path;
  ~Scrap() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

PrepareReport write_shards(const Corpus& corpus, const std::string& source, const tokenizer::Tokenizer& tokenizer,
                           const std::string& folder, const PartStore& parts, const PrepareOptions& options,
                           const OnProgress& on_progress) {
  ShardSet shards(folder, tokenizer, options);
  ChunkReader reader(corpus, [&](std::string_view text, std::size_t from) { return tokenizer.next_cut(text, from); });
  Progress progress{0, corpus.bytes};
  const auto write = [&](EncodedChunk&& chunk) {
    shards.add(chunk);
    progress.done_bytes += chunk.input_bytes;
    progress.parts_reused += chunk.reused ? 1 : 0;
    progress.tokens = shards.tokens();
    if (on_progress) on_progress(progress);
  };
  OrderedMap<Chunk, EncodedChunk>::run(
      worker_count(options.workers), [&] { return shards.full() ? std::nullopt : reader.next(); },
      [&](Chunk& chunk) { return encode_chunk(chunk, options.text_key, tokenizer, parts); }, write);
  if (shards.tokens() == 0)
    throw base::DataError(base::say("'{}' holds no text, only empty documents: give a file with text", corpus.files[0].path));
  PrepareReport report = report_of(shards.finish(source));
  report.bytes = progress.done_bytes;
  report.duplicate_documents = shards.duplicates();
  report.left_out = corpus.left_out;
  report.not_utf8 = corpus.not_utf8;
  return report;
}

std::string parent_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

// Folders of processes of this host that were killed.
void remove_left_behind(const std::string& beginning) {
  const std::string parent = parent_of(beginning), name = std::filesystem::path(beginning).filename().string();
  for (const std::string& entry : base::list_directory(parent)) {
    std::int64_t process = 0;
    if (entry.rfind(name, 0) != 0 || !base::parse_int(entry.substr(name.size()), &process)) continue;
    if (::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH) base::remove_tree(parent + "/" + entry);
  }
}

// Tokenizes `corpus` into `folder`, which must not be there. `source`: its source_key.
PrepareReport prepare_corpus(const Corpus& corpus, const std::string& source, const tokenizer::Tokenizer& tokenizer,
                             const std::string& folder, const PrepareOptions& options, const OnProgress& on_progress) {
  const std::string mine = fmt::format("{}.partial.{}.", folder, base::host_name());
  remove_left_behind(mine);
  const Scrap partial{mine + std::to_string(::getpid())};
  PartsOfJob parts(fmt::format("{}.parts.{}", folder, source));
  base::remove_tree(partial.path);
  base::make_directories(partial.path);
  const PrepareReport report = parts.run([&](const PartStore& store) {
    return write_shards(corpus, source, tokenizer, partial.path, store, options, on_progress);
  });
  base::rename_path(partial.path, folder);
  return report;
}

bool has_piece_hashes(const std::string& folder, const ShardIndex::Entry& entry) {
  return !entry.piece_hashes.empty() && base::file_exists(piece_hashes_path(folder + "/" + entry.file));
}

// Shards of a version that wrote none, or that lost them, get theirs. They have just been verified.
void add_piece_hashes(const std::string& folder, ShardIndex index) {
  bool complete = true;
  for (ShardIndex::Entry& entry : index.shards) {
    if (has_piece_hashes(folder, entry)) continue;
    complete = false;
    const std::string path = folder + "/" + entry.file;
    const base::MappedFile file(path);
    PieceHasher hasher;
    base::while_reading(file, [&] { hasher.add(file.text().substr(shard_header_bytes)); });
    base::write_file_atomic(piece_hashes_path(path), encode_piece_hashes({entry.payload_hash, hasher.finish()}));
    entry.piece_hashes = piece_hashes_path(entry.file);
  }
  if (!complete) write_shard_index(folder, index);
}

std::optional<PrepareReport> already_prepared(const std::string& folder, const std::string& source) {
  if (base::file_exists(folder)) throw base::ConfigError(base::say("'{}' is a file: give --out a new or empty folder", folder));
  if (base::list_directory(folder).empty()) return std::nullopt;
  const bool same =
      base::file_exists(index_path(folder)) && looks_like_shards(folder) && read_shard_index(folder).source == source;
  if (!same)
    throw base::ConfigError(base::say("the folder '{}' already holds other data: choose another --out or remove it", folder));
  TokenStream::open(folder, Verify::contents);  // throws when damaged
  const ShardIndex index = read_shard_index(folder);
  add_piece_hashes(folder, index);
  PrepareReport report = report_of(index);
  report.reused = true;
  return report;
}

}  // namespace

PrepareReport prepare(const std::vector<std::string>& inputs, const tokenizer::Tokenizer& tokenizer,
                      const std::string& folder, const PrepareOptions& options, const OnProgress& on_progress) {
  Corpus corpus = find_corpus(inputs, options.json_files);
  const std::string source = source_key(corpus, tokenizer, options), target = base::without_end_slashes(folder);
  corpus.scratch = parent_of(target);
  if (const auto report = already_prepared(target, source)) return *report;
  return prepare_corpus(corpus, source, tokenizer, target, options, on_progress);
}

static std::shared_ptr<const TokenStream> checked(TokenStream stream, const tokenizer::Tokenizer& tokenizer) {
  if (stream.tokenizer_fingerprint() != tokenizer.fingerprint() || stream.vocab_size() != tokenizer.vocab_size())
    throw base::DataError(base::say("the tokens in '{}' were made by a different tokenizer (vocabulary {}, fingerprint {}) than the given one (vocabulary {}, fingerprint {}): give --data.tokenizer the tokenizer used by 'troika data prepare', or prepare again", stream.path(), stream.vocab_size(),
                                    stream.tokenizer_fingerprint(), tokenizer.vocab_size(), tokenizer.fingerprint()));
  return std::make_shared<const TokenStream>(std::move(stream));
}

std::shared_ptr<const TokenStream> open_shards(const std::string& path, const tokenizer::Tokenizer& tokenizer) {
  return checked(TokenStream::open(path), tokenizer);
}

// The cached shards when they are there and sound.
static std::shared_ptr<const TokenStream> open_cached(const std::string& folder,
                                                      const tokenizer::Tokenizer& tokenizer) {
  if (!base::file_exists(index_path(folder))) return nullptr;
  try {
    return open_shards(folder, tokenizer);
  } catch (const base::DataError&) {
    return nullptr;  // what a cache lost is made again
  }
}

void remove_abandoned(const std::string& folder, const std::string& beginning) {
  for (const std::string& name : base::list_directory(folder))
    if (name.rfind(beginning, 0) == 0) base::remove_tree(folder + "/" + name);
}

std::shared_ptr<const TokenStream> prepare_once(const std::vector<std::string>& inputs,
                                                const tokenizer::Tokenizer& tokenizer, const std::string& cache_folder,
                                                const PrepareOptions& options, const OnProgress& on_progress) {
  Corpus corpus = find_corpus(inputs, options.json_files);
  corpus.scratch = cache_folder;
  base::make_directories(cache_folder);
  const std::string source = source_key(corpus, tokenizer, options), folder = cache_folder + "/" + source;
  const auto make = [&](const OnProgress& tell) {
    remove_abandoned(cache_folder, source + ".partial.");
    base::remove_tree(folder);
    prepare_corpus(corpus, source, tokenizer, folder, options, tell);
  };
  std::shared_ptr<const TokenStream> stream;
  make_once(folder, [&] { return (stream = open_cached(folder, tokenizer)) != nullptr; }, make, on_progress);
  return stream != nullptr ? stream : open_shards(folder, tokenizer);
}

}  // namespace troika::data
