#include "sweep/row.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::sweep {
namespace {
using Cells = std::vector<std::string>;

// As it is read; `place` for errors.
struct CsvCell {
  const std::string& text;
  const base::Text& place;

  [[noreturn]] void refuse(const base::Text& wanted) const {
    throw base::DataError(base::say("{} is '{}' but must be {}", place, text, wanted));
  }
};

std::string cell_text(const std::string& value) { return value; }

template <class T>
std::string cell_text(const T& value) {
  if constexpr (std::is_enum_v<T>)
    return config::word_of(value);
  else
    return fmt::format("{}", value);  // the shortest text that reads back as the same double
}

void read_cell(const CsvCell& cell, std::string& value) { value = cell.text; }

void read_cell(const CsvCell& cell, double& value) {
  if (!base::parse_double(cell.text, &value)) cell.refuse(base::say("a number"));
}

template <class T>
void read_cell(const CsvCell& cell, T& value) {
  if constexpr (std::is_enum_v<T>) {
    const auto words = words_of(T{});
    const auto found = std::find(words.begin(), words.end(), cell.text);
    if (found == words.end()) cell.refuse(base::say("one of {}", fmt::format("{}", fmt::join(words, ", "))));
    value = static_cast<T>(found - words.begin());
  } else {
    std::int64_t whole = 0;
    if (!base::parse_int(cell.text, &whole) || whole < 0 || whole > std::numeric_limits<T>::max())
      cell.refuse(base::say("a whole number of at least 0"));
    value = static_cast<T>(whole);
  }
}

// Where nothing was measured, those of `measured` are empty.
struct Column {
  enum class Of { run, measured };

  const char* name;
  Of of;
  bool is_number, is_required;
  std::function<std::string(const SweepRow&)> give;
  std::function<void(SweepRow&, const CsvCell&)> take;
};

// Columns by the members that they show.
class ColumnList {
 public:
  template <class T>
  void row(const char* name, T SweepRow::*member) {
    add(
        name, Column::Of::run, [member](auto& row) -> auto& { return row.*member; });
  }
  template <class Member>  // of planner::Layout
  void layout(const char* name, Member member) {
    add(
        name, Column::Of::run, [member](auto& row) -> auto& { return row.layout.*member; });
  }
  template <class T>
  void predicted(const char* name, T SweepPredicted::*member) {
    add(
        name, Column::Of::run, [member](auto& row) -> auto& { return row.predicted.*member; });
  }
  template <class T>
  void measured(const char* name, T SweepMeasured::*member) {
    add(
        name, Column::Of::measured, [member](auto& row) -> auto& { return (*row.measured).*member; });
  }
  // Tables of earlier versions have it in English alone.
  void reason(const char* name, std::string base::Text::*language) {
    add(
        name, Column::Of::run, [language](auto& row) -> auto& { return row.reason.*language; });
    columns_.back().is_required = language == &base::Text::english;
  }
  std::vector<Column> take() { return std::move(columns_); }

 private:
  template <class Place>
  void add(const char* name, Column::Of of, Place place) {
    using Value = std::decay_t<decltype(place(std::declval<SweepRow&>()))>;
    columns_.push_back({name, of, std::is_arithmetic_v<Value>, true,
                        [place](const SweepRow& row) { return cell_text(place(row)); },
                        [place](SweepRow& row, const CsvCell& cell) { read_cell(cell, place(row)); }});
  }

  std::vector<Column> columns_;
};

std::vector<Column> made_columns() {
  using planner::Layout;
  ColumnList list;
  list.layout("dp", &Layout::dp);
  list.layout("pp", &Layout::pp);
  list.layout("tp", &Layout::tp);
  list.layout("cp", &Layout::cp);
  list.layout("zero", &Layout::zero);
  list.layout("schedule", &Layout::schedule);
  list.layout("micro_batch_size", &Layout::micro);
  list.layout("recompute", &Layout::recompute);
  list.measured("samples_per_second", &SweepMeasured::samples_per_second);
  list.measured("tokens_per_second", &SweepMeasured::tokens_per_second);
  list.measured("step_seconds", &SweepMeasured::step_seconds);
  list.measured("memory_bytes", &SweepMeasured::memory_bytes);
  list.measured("communication_share", &SweepMeasured::communication_share);
  list.measured("bubble_share", &SweepMeasured::bubble_share);
  list.predicted("predicted_step_seconds", &SweepPredicted::step_seconds);
  list.predicted("predicted_memory_bytes", &SweepPredicted::memory_bytes);
  list.row("status", &SweepRow::status);
  list.layout("virtual_stages", &Layout::virtual_stages);
  list.layout("offload", &Layout::offload);
  list.layout("precision", &Layout::precision);
  list.layout("global_batch_size", &Layout::global);
  list.measured("resident_bytes", &SweepMeasured::resident_bytes);
  list.predicted("predicted_resident_bytes", &SweepPredicted::resident_bytes);
  list.measured("loss_bits", &SweepMeasured::loss_bits);
  list.row("seconds", &SweepRow::seconds);
  list.reason("reason", &base::Text::english);
  list.reason("reason_zh", &base::Text::chinese);
  return list.take();
}

const std::vector<Column>& columns() {
  static const std::vector<Column> all = made_columns();
  return all;
}

// RFC 4180.
class CsvReader {
 public:
  CsvReader(const std::string& text, const std::string& origin) : text_(text), origin_(origin) {}

  bool ended() const { return at_ == text_.size(); }
  base::Text place() const { return base::say("line {} of {}", line_, origin_); }

  Cells record() {
    Cells cells;
    for (;;) {
      cells.push_back(cell());
      if (ended()) refuse(base::Phrase("{} is cut off; delete the file to measure all layouts again"));
      const char end = text_[at_++];
      if (end == ',') continue;
      if (end == '\r' && !ended() && text_[at_] == '\n') ++at_;
      ++line_;
      return cells;
    }
  }

 private:
  [[noreturn]] void refuse(base::Phrase what) const { throw base::DataError(base::say(what, place())); }

  std::string cell() {
    if (ended() || text_[at_] != '"') {
      const std::size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
      std::string plain = text_.substr(at_, end - at_);
      at_ = end;
      return plain;
    }
    std::string inside;
    for (++at_;; ++at_) {
      if (ended()) refuse(base::Phrase("{} is cut off inside a quoted text; delete the file to measure all layouts again"));
      if (text_[at_] != '"') {
        inside += text_[at_];
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
        inside += text_[at_++];
      } else {
        break;
      }
    }
    if (++at_ < text_.size() && std::string_view(",\r\n").find(text_[at_]) == std::string_view::npos)
      refuse(base::Phrase("{} has characters after a quoted text; delete the file to measure all layouts again"));
    return inside;
  }

  const std::string& text_;
  const std::string& origin_;
  std::size_t at_ = 0, line_ = 1;
};

// The known column of each cell, nullptr for others.
std::vector<const Column*> columns_of(const Cells& names, const base::Text& place) {
  std::vector<const Column*> found;
  for (const std::string& name : names) {
    const auto column =
        std::find_if(columns().begin(), columns().end(), [&](const Column& c) { return c.name == name; });
    found.push_back(column == columns().end() ? nullptr : &*column);
  }
  for (const Column& column : columns()) {
    if (column.is_required && std::find(found.begin(), found.end(), &column) == found.end())
      throw base::DataError(
          base::say("{} has no column {}; delete the file to measure all layouts again", place, column.name));
  }
  return found;
}

SweepRow row_of(const Cells& cells, const std::vector<const Column*>& of, const base::Text& place) {
  if (cells.size() != of.size())
    throw base::DataError(base::say("{} has {} values for {} columns; delete the file to measure all layouts again",
                                      place, cells.size(), of.size()));
  SweepRow row;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (of[i] != nullptr && of[i]->of == Column::Of::measured && !cells[i].empty()) row.measured.emplace();
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (of[i] == nullptr || (of[i]->of == Column::Of::measured && !row.measured)) continue;
    of[i]->take(row, {cells[i], base::say("{}, {},", place, of[i]->name)});
  }
  if (row.reason.chinese.empty()) row.reason.chinese = row.reason.english;
  return row;
}

}  // namespace

std::string to_csv(const SweepRows& rows) {
  Cells names;
  for (const Column& column : columns()) names.emplace_back(column.name);
  std::string text = base::csv_record(names) + "\n";
  for (const SweepRow& row : rows) {
    Cells cells;
    for (const Column& column : columns())
      cells.push_back(column.of == Column::Of::measured && !row.measured ? "" : column.give(row));
    text += base::csv_record(cells) + "\n";
  }
  return text;
}

std::vector<SweepCell> cells_of(const SweepRow& row) {
  std::vector<SweepCell> cells;
  for (const Column& column : columns()) {
    const bool is_there = column.of == Column::Of::run || row.measured;
    cells.push_back({column.name, is_there ? column.give(row) : "", column.is_number});
  }
  return cells;
}

SweepRows parse_csv(const std::string& text, const std::string& origin) {
  CsvReader reader(text, origin);
  base::Text place = reader.place();
  const std::vector<const Column*> of = columns_of(reader.record(), place);
  SweepRows rows;
  while (!reader.ended()) {
    place = reader.place();
    rows.push_back(row_of(reader.record(), of, place));
  }
  return rows;
}

}  // namespace troika::sweep
