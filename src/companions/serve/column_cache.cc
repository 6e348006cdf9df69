#include "serve/column_cache.h"

#include <algorithm>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "serve/request_pool.h"

namespace troika::serve {

struct ColumnCache::Entry {
  explicit Entry(std::string of) : folder(std::move(of)) {}

  const std::string folder;
  Turn turn;  // of `columns`
  StepColumns columns;
  std::int64_t bytes = 0;  // by the mutex of the cache
};

ColumnCache::ColumnCache(std::int64_t most_bytes) : most_bytes_(most_bytes) {}
ColumnCache::~ColumnCache() = default;

std::shared_ptr<ColumnCache::Entry> ColumnCache::entry_of(const std::string& folder) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const std::shared_ptr<Entry>& entry) { return entry->folder == folder; });
  if (found == entries_.end())
    entries_.push_front(std::make_shared<Entry>(folder));
  else
    entries_.splice(entries_.begin(), entries_, found);
  return entries_.front();
}

void ColumnCache::settle(const std::shared_ptr<Entry>& used, std::int64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  used->bytes = bytes;
  std::int64_t all = 0;
  for (auto at = entries_.begin(); at != entries_.end();) {
    all += (*at)->bytes;
    const bool stays = at == entries_.begin() || all <= most_bytes_;
    if (!stays) all -= (*at)->bytes;
    at = stays ? std::next(at) : entries_.erase(at);
  }
}

void ColumnCache::look(const std::string& folder, const Use& use) {
  const std::shared_ptr<Entry> entry = entry_of(folder);
  const Turn::Held turn(entry->turn, folder);
  const std::optional<base::RunFile> file = base::RunFile::open(folder, "metrics.jsonl");
  if (file)
    entry->columns.refresh(*file);
  else
    entry->columns.clear();
  settle(entry, entry->columns.columns().bytes());
  use(entry->columns.columns(), file ? &*file : nullptr);
}

std::int64_t ColumnCache::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::int64_t all = 0;
  for (const std::shared_ptr<Entry>& entry : entries_) all += entry->bytes;
  return all;
}

namespace {

constexpr std::int64_t worth_threads = std::int64_t{4} << 20, remembered_bytes = 256;
constexpr std::int64_t most_threads = 8;  // each has a chunk of the file in memory

struct Piece {
  LinesRead from;
  std::int64_t end = 0;
  Columns columns;
  LinesRead read;
};

LinesRead read_into(Columns& columns, const base::RunFile& file, const LinesRead& from, std::int64_t end) {
  return each_line(file, from, end, [&](std::int64_t offset, std::string_view line) {
    if (const std::optional<ScannedRow> row = scan_row(line)) columns.add(*row, offset);
    return true;
  });
}

void read_piece(const base::RunFile& file, Piece& piece) {
  piece.read = read_into(piece.columns, file, piece.from, piece.end);
}

// Where the first line begins at or behind `offset`; `end` where none does.
std::int64_t line_begin(const base::RunFile& file, std::int64_t offset, std::int64_t end) {
  constexpr std::int64_t looked_at = 64 << 10;
  for (std::int64_t at = offset - 1; at < end; at += looked_at) {
    const std::string text = file.text(at, std::min(looked_at, end - at));
    if (const std::size_t newline = text.find('\n'); newline != std::string::npos)
      return at + static_cast<std::int64_t>(newline) + 1;
    if (text.empty()) break;
  }
  return end;
}

// Cut where lines end.
std::vector<Piece> pieces_of(const base::RunFile& file, const LinesRead& from, std::int64_t end) {
  const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  const std::int64_t bytes = end - from.next, count = std::clamp<std::int64_t>(cores, 1, most_threads);
  std::vector<Piece> pieces;
  LinesRead begin = from;
  for (std::int64_t i = 1; i <= count; ++i) {
    const std::int64_t cut = i == count ? end : line_begin(file, from.next + bytes / count * i, end);
    if (cut <= begin.next) continue;
    pieces.push_back({begin, cut, {}, {}});
    begin = {cut, false};
  }
  return pieces;
}

void read_all(const base::RunFile& file, std::vector<Piece>& pieces) {
  std::vector<std::thread> others;
  others.reserve(pieces.size());
  std::size_t begun = 1;
  try {
    for (; begun < pieces.size(); ++begun)
      others.emplace_back([&file, &piece = pieces[begun]] { read_piece(file, piece); });
  } catch (const std::system_error&) {  // no more threads are to be had
  }
  read_piece(file, pieces.front());
  for (; begun < pieces.size(); ++begun) read_piece(file, pieces[begun]);
  for (std::thread& other : others) other.join();
}

}  // namespace

// An inode may come to a new file, so its last bytes are looked at too.
bool StepColumns::goes_on(const base::RunFile& file) const {
  const base::RunFile::Facts& facts = file.facts();
  if (facts.device != device_ || facts.inode != inode_ || facts.bytes < read_.next) return false;
  const auto bytes = static_cast<std::int64_t>(last_bytes_.size());
  return file.text(read_.next - bytes, bytes) == last_bytes_;
}

void StepColumns::remember(const base::RunFile& file) {
  const std::int64_t bytes = std::min(read_.next, remembered_bytes);
  last_bytes_ = file.text(read_.next - bytes, bytes);
}

void StepColumns::refresh(const base::RunFile& file) {
  if (!goes_on(file)) {
    clear();
    device_ = file.facts().device;
    inode_ = file.facts().inode;
  }
  const std::int64_t end = file.facts().bytes;
  if (end - read_.next < worth_threads)
    read_ = read_into(columns_, file, read_, end);
  else
    read_by_threads(file, end);
  remember(file);
}

void StepColumns::read_by_threads(const base::RunFile& file, std::int64_t end) {
  std::vector<Piece> pieces = pieces_of(file, read_, end);
  read_all(file, pieces);
  for (Piece& piece : pieces) {
    columns_.append(std::move(piece.columns));
    read_ = piece.read;
    if (read_.next != piece.end) return;  // the last line, or the file was cut meanwhile
  }
}

}  // namespace troika::serve
