#include "data/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/cause.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mapping_guard.h"
#include "base/say.h"
#include "data/ordered_map.h"
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
  if (base::file_exists(folder)) throw base::ConfigError(base::say("'{}' is a file: give --out a new or empty folder", folder));
  if (base::list_directory(folder).empty()) return std::nullopt;
  const bool same =
      base::file_exists(index_path(folder)) && looks_like_shards(folder) && read_shard_index(folder).source == source;
  if (!same)
    throw base::ConfigError(base::say("the folder '{}' already holds other data: choose another --out or remove it", folder));
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
  if (stream.tokenizer_fingerprint() != tokenizer.fingerprint() || stream.vocab_size() != tokenizer.vocab_size())
    throw base::DataError(base::say("the tokens in '{}' were made by a different tokenizer (vocabulary {}, fingerprint {}) than the given one (vocabulary {}, fingerprint {}): give --data.tokenizer the tokenizer used by 'troika data prepare', or prepare again", stream.path(), stream.vocab_size(),
                                    stream.tokenizer_fingerprint(), tokenizer.vocab_size(), tokenizer.fingerprint()));
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
  for (const std::string& name : base::list_directory(cache_folder))
    if (name.rfind(source + ".partial.", 0) == 0) base::remove_tree(cache_folder + "/" + name);
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

namespace {

std::string cache_key(const Corpus& corpus, const Encoding& encoding, const TokenizeOptions& options) {
  return base::hash_bytes(fmt::format("sequences 3 {} {} {} {} {} {} {} {}", encoding.tokenizer.fingerprint(),
                                      encoding.chat_template.fingerprint(), static_cast<int>(encoding.loss_on),
                                      word_of(encoding.control_tokens), describe(encoding.shape),
                                      static_cast<int>(options.equal), options.max_records, corpus_hash(corpus)));
}

std::string_view bytes_of(const std::int32_t* ids, std::size_t count) {
  return {reinterpret_cast<const char*>(ids), sizeof *ids * count};
}

// Chunks in order -> the file.
class RecordSink {
 public:
  RecordSink(SequenceWriter* writer, const TokenizeOptions& options) : writer_(writer), options_(options) {}

  void add(const EncodedRecords& records) {
    std::size_t sequence = 0, at = 0, record = 0;
    auto finding = records.findings.begin();
    for (const std::uint32_t sequences : records.sequences_of_record) {
      if (full()) return;
      ++counts_.records;
      if (finding != records.findings.end() && finding->first == record++) findings_.add((finding++)->second);
      bool answered = false;
      for (const std::size_t end = sequence + sequences; sequence < end; at += records.lengths[sequence++])
        answered |= add_sequence(&records.ids[at], &records.has_loss[at], records.lengths[sequence]);
      counts_.without_answer += answered ? 0 : 1;
    }
  }
  bool full() const { return options_.max_records > 0 && counts_.records == options_.max_records; }
  const SequenceCounts& counts() const { return counts_; }
  const Findings& findings() const { return findings_; }

 private:
  bool add_sequence(const std::int32_t* ids, const std::uint8_t* has_loss, std::size_t length) {
    if (!is_taught(has_loss, length)) return false;
    if (options_.equal == Equal::first_kept && !filter_.keeps(key_of(ids, has_loss, length), true)) {
      ++counts_.duplicates;
    } else {
      writer_->append(ids, has_loss, static_cast<std::int64_t>(length));
    }
    return true;
  }

  DocumentKey key_of(const std::int32_t* ids, const std::uint8_t* has_loss, std::size_t length) {
    key_bytes_ = bytes_of(ids, length);
    key_bytes_.append(reinterpret_cast<const char*>(has_loss), length);
    return document_key(key_bytes_);
  }

  SequenceWriter* writer_;
  const TokenizeOptions options_;
  SequenceCounts counts_;
  Findings findings_;
  DocumentFilter filter_;
  std::string key_bytes_;
};

// Left by processes that were killed; only the holder of the lock calls this.
void remove_temporaries(const std::string& cache_folder, const std::string& path) {
  for (const std::string& name : base::list_directory(cache_folder))
    if ((cache_folder + "/" + name).rfind(path + ".tmp.", 0) == 0) base::remove_tree(cache_folder + "/" + name);
}

void tokenize(const Corpus& corpus, const Encoding& encoding, const std::string& path, const TokenizeOptions& options,
              const PartStore& parts, const OnProgress& on_progress) {
  SequenceWriter writer(path, encoding.tokenizer.vocab_size());
  RecordSink sink(&writer, options);
  ChunkReader reader(corpus, {});
  Progress progress{0, corpus.bytes};
  const auto write = [&](EncodedRecords&& records) {
    sink.add(records);
    progress.done_bytes += records.input_bytes;
    progress.parts_reused += records.reused ? 1 : 0;
    progress.tokens = writer.counts().tokens;
    if (on_progress) on_progress(progress);
  };
  OrderedMap<Chunk, EncodedRecords>::run(
      worker_count(options.workers), [&] { return sink.full() ? std::nullopt : reader.next(); },
      [&](Chunk& chunk) { return encode_records(chunk, encoding, parts); }, write);
  if (writer.counts().sequences == 0) {
    const std::string& path_of_first = corpus.files.front().path;
    const base::DataError error(base::say("no record of '{1}' has an answer to train on, in {0} records read", sink.counts().records, path_of_first),
                                base::Cause::no_training_tokens);
    const std::vector<base::Text> found = sink.findings().report(path_of_first, encoding.control_tokens);
    throw found.empty() ? error : base::with_context(error, found.front());
  }
  writer.finish(sink.counts(), sink.findings());
}

// The cached file when it is there and sound.
std::shared_ptr<const SequenceFile> open_cached(const std::string& path) {
  if (!base::file_exists(path)) return nullptr;
  try {
    return std::make_shared<const SequenceFile>(path);
  } catch (const base::DataError&) {
    return nullptr;  // what a cache lost is made again
  }
}

}  // namespace

std::shared_ptr<const SequenceFile> tokenize_once(const Corpus& corpus, const Encoding& encoding,
                                                  const std::string& cache_folder, const TokenizeOptions& options,
                                                  const OnProgress& on_progress) {
  base::make_directories(cache_folder);
  const std::string path = cache_folder + "/" + cache_key(corpus, encoding, options) + ".sequences";
  const auto make = [&](const OnProgress& tell) {
    remove_temporaries(cache_folder, path);
    PartsOfJob parts(path + ".parts");
    parts.run([&](const PartStore& store) { tokenize(corpus, encoding, path, options, store, tell); });
  };
  if (auto file = made_once<const SequenceFile>(
          path, [&] { return open_cached(path); }, make, on_progress))
    return file;
  return std::make_shared<const SequenceFile>(path);  // says what is wrong with it
}

}  // namespace troika::data
