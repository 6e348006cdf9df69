#include "data/prepare_corpus.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/say.h"
#include "base/text.h"
#include "data/chunks.h"
#include "data/ordered_map.h"
#include "data/part_store.h"

namespace troika::data {

ShardSet::ShardSet(std::string folder, const tokenizer::Tokenizer& tokenizer, std::int64_t tokens_per_shard)
    : folder_(std::move(folder)), end_(tokenizer.end_of_document_id()), tokens_per_shard_(tokens_per_shard) {
  index_.vocab_size = tokenizer.vocab_size();
  index_.tokenizer_fingerprint = tokenizer.fingerprint();
}

void ShardSet::add(const EncodedPart& part) {
  if (!writer_) {
    name_ = fmt::format("tokens-{:05d}.bin", index_.shards.size());
    writer_.emplace(folder_ + "/" + name_, index_.vocab_size, index_.tokenizer_fingerprint);
  }
  writer_->append(part.ids);
  index_.dropped_bytes += part.dropped_bytes;
  if (!part.ends) return;
  if (end_ >= 0) writer_->append({end_});
  writer_->end_document();
  if (writer_->tokens() >= tokens_per_shard_) close_shard();
}

ShardIndex ShardSet::finish(const std::string& source) {
  close_shard();
  index_.source = source;
  write_shard_index(folder_, index_);
  return index_;
}

void ShardSet::close_shard() {
  if (!writer_) return;
  const ShardHeader header = writer_->finish();
  writer_.reset();
  finished_tokens_ += header.tokens;
  index_.shards.push_back({name_, header.tokens, header.documents, header.payload_hash, piece_hashes_path(name_)});
}

void count_shards(const ShardIndex& index, PrepareReport* report) {
  report->dropped_bytes = index.dropped_bytes;
  report->shards = static_cast<std::int64_t>(index.shards.size());
  for (const ShardIndex::Entry& shard : index.shards) {
    report->tokens += shard.tokens;
    report->documents += shard.documents;
  }
}

std::string source_key(const Corpus& corpus, const tokenizer::Tokenizer& tokenizer, const PrepareOptions& options) {
  return base::hash_bytes(fmt::format("2 {} {} {} {} {}", tokenizer.fingerprint(), corpus_hash(corpus),
                                      options.tokens_per_shard, options.text_key, options.max_documents));
}

namespace {

// Documents of the chunks, one of equals, until there are enough.
class DocumentSink {
 public:
  DocumentSink(ShardSet* shards, std::int64_t most_documents) : shards_(shards), most_documents_(most_documents) {}

  void add(const EncodedChunk& chunk) {
    for (const EncodedPart& part : chunk.parts) {
      if (part.begins) ++documents_;
      if (!over() && filter_.keeps(part.key, part.begins)) shards_->add(part);
      if (part.ends && documents_ == most_documents_) full_ = true;
    }
  }
  bool full() const { return full_; }
  std::int64_t duplicates() const { return filter_.dropped(); }

 private:
  bool over() const { return most_documents_ > 0 && documents_ > most_documents_; }

  ShardSet* shards_;
  const std::int64_t most_documents_;
  std::int64_t documents_ = 0;
  bool full_ = false;
  DocumentFilter filter_;
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

static PrepareReport write_shards(const Corpus& corpus, const std::string& source,
                                  const tokenizer::Tokenizer& tokenizer, const std::string& folder,
                                  const PartStore& parts, const PrepareOptions& options,
                                  const OnProgress& on_progress) {
  ShardSet shards(folder, tokenizer, options.tokens_per_shard);
  DocumentSink sink(&shards, options.max_documents);
  ChunkReader reader(corpus, [&](std::string_view text, std::size_t from) { return tokenizer.next_cut(text, from); });
  Progress progress{0, corpus.bytes};
  const auto write = [&](EncodedChunk&& chunk) {
    sink.add(chunk);
    progress.done_bytes += chunk.input_bytes;
    progress.parts_reused += chunk.reused ? 1 : 0;
    progress.tokens = shards.tokens();
    if (on_progress) on_progress(progress);
  };
  OrderedMap<Chunk, EncodedChunk>::run(
      worker_count(options.workers), [&] { return sink.full() ? std::nullopt : reader.next(); },
      [&](Chunk& chunk) { return encode_chunk(chunk, options.text_key, tokenizer, parts); }, write);
  if (shards.tokens() == 0)
    throw base::DataError(base::say("'{}' holds no text, only empty documents: give a file with text", corpus.files[0].path));
  PrepareReport report{progress.done_bytes};
  count_shards(shards.finish(source), &report);
  report.duplicate_documents = sink.duplicates();
  report.left_out = corpus.left_out;
  report.not_utf8 = corpus.not_utf8;
  return report;
}

// Folders of processes of this host that were killed.
static void remove_left_behind(const std::string& beginning) {
  const std::filesystem::path path(beginning);
  const std::string parent = path.parent_path().empty() ? "." : path.parent_path().string();
  const std::string name = path.filename().string();
  for (const std::string& entry : base::list_directory(parent)) {
    std::int64_t process = 0;
    if (entry.rfind(name, 0) != 0 || !base::parse_int(entry.substr(name.size()), &process)) continue;
    if (::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH) base::remove_tree(parent + "/" + entry);
  }
}

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

}  // namespace troika::data
