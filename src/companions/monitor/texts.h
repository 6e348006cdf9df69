// What `troika monitor` shows, in the words of one language.
#pragma once

#include <string>

#include "base/language.h"
#include "monitor/text_line.h"
#include "monitor/view.h"

namespace troika::monitor {

using base::Language;

std::string said(Language language, Condition condition);
std::string said(Language language, const Finding& finding);
// The name of an event: "save", "rank ended".
std::string said(Language language, records::EventKind kind);
// "20 ms", "3.5 s", "3 min 20 s".
std::string said_seconds(double seconds);

// Numbers of a view as words.
std::string state_words(const View& view, base::Language language);  // "training", "training, silent for 20.0 s"
Style state_style(const View& view);

std::string loss_words(double loss);                           // "2.3412"; "nan" where it is not finite
std::string number_words(double value);                        // three digits; "" where it is not known
std::string rate_words(double per_second);                     // "12.3 K"; "" where it is not known
std::string byte_rate_words(double bytes_per_second);          // "1.50 MiB"; "" where it is not known
std::string percent_words(double share);                       // "38%"
double done_share(const Progress& progress);                   // of the steps; 0 where their number is not known
std::string clock_words(double time, int utc_offset_seconds);  // "12:00:07"
std::string date_words(double time, int utc_offset_seconds);   // "2025-03-01 12:00:07"
std::string arrow(Charset charset);                            // "->"

// "fwd 3.2 for 0.4 s", "silent for 20.0 s".
std::string where_words(const RankView& rank, base::Language language);
// "2", "2 -> 5", "others"; "" where it waits for nobody.
std::string waits_words(const RankView& rank, base::Language language, Charset charset);

// Text from outside, fit for a screen, in lines of at most `width` columns, broken at spaces where there are any.
std::vector<std::string> wrapped(const std::string& text, std::size_t width);

}  // namespace troika::monitor
