// A view as lines of text of a given size.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/language.h"
#include "monitor/text_line.h"
#include "monitor/view.h"

namespace troika::monitor {

using base::Language;

struct Frame {
  std::size_t width = 100;
  std::size_t height = 0;  // 0: as many lines as it takes, but of many ranks the first
  Charset charset = Charset::utf8;
  Language language = Language::english;
  int utc_offset_seconds = 0;  // of the time of events
};

// At most `height` lines where that is above 0. Of many ranks those that matter come first and the rest is summed up.
std::vector<TextLine> screen_of(const View& view, const Frame& frame);

// Lines as plain text, each with a newline.
std::string plain_text(const std::vector<TextLine>& lines, std::size_t width);

// The parts of a screen, from above to below. None is longer than its `most` lines.

// Name, state, progress and curves; `loss_rows`: how high the curve of the loss is.
std::vector<TextLine> head_section(const View& view, const Frame& frame, std::size_t loss_rows);
// Findings that deserve a look, and the reason why the run failed.
std::vector<TextLine> finding_section(const View& view, const Frame& frame, std::size_t most);
std::vector<TextLine> rank_section(const View& view, const Frame& frame, std::size_t most);
std::vector<TextLine> host_section(const View& view, const Frame& frame, std::size_t most);
std::vector<TextLine> link_section(const View& view, const Frame& frame, std::size_t most);
std::vector<TextLine> event_section(const View& view, const Frame& frame, std::size_t most);

// The ranks in the order in which they matter: slow, silent, waited for, in a circle, not heard, the others.
std::vector<const RankView*> by_weight(const std::vector<RankView>& ranks);

// A run as lines of a log, for where there is no terminal: one each time it is looked at, and what is new.

// "training  step 520 of 1000  52.0 %  loss 2.3412  lr 0.0003  12.3 K tokens/s  ETA 3 min 20 s".
std::string progress_words(const View& view, base::Language language);

// Threads: one.
class PlainLines {
 public:
  PlainLines(base::Language language, int utc_offset_seconds)
      : language_(language), utc_offset_seconds_(utc_offset_seconds) {}

  // The line of now; behind it, indented, events since the last call and findings that the last call did not have.
  std::vector<std::string> next(const View& view);

 private:
  std::vector<std::string> new_events(const View& view);
  std::vector<std::string> new_findings(const View& view);

  const base::Language language_;
  const int utc_offset_seconds_;
  bool begun_ = false;
  std::optional<records::Event> last_event_;
  std::set<std::string> told_;  // findings of the last call, without their numbers
};

}  // namespace troika::monitor
