// Metrics as text for Prometheus, in both of its formats.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troika::exporters {

// open_metrics: OpenMetrics 1.0.0; prometheus: Prometheus' text format 0.0.4, which every scraper reads.
enum class TextFormat { open_metrics, prometheus };

// The one that a client wants, by its header Accept: OpenMetrics where it names that version and prefers it.
TextFormat format_for(std::string_view accept);
std::string_view content_type_of(TextFormat format);

// A name, its unit ("", or the end of the name behind '_'), and one sentence. A counter's name is without "_total", an info's without
// "_info".
struct Family {
  enum class Kind { gauge, counter, info, state_set, histogram } kind = Kind::gauge;
  std::string_view name, unit, help;
};

using Labels = std::vector<std::pair<std::string_view, std::string>>;

// Families come in the order in which they first had a sample, each in one piece, however often it is begun; one without samples
// leaves no line.
class Exposition {
 public:
  explicit Exposition(TextFormat format) : format_(format) {}

  // Every sample that follows has this label "run" in front; "": none has.
  void of_run(std::string name) { run_ = std::move(name); }
  const std::string& run() const { return run_; }

  void begin(const Family& family);  // the samples that follow are of it
  void sample(double value, const Labels& labels = {});
  void info(const Labels& labels);
  void state(const std::vector<std::string_view>& all, std::string_view now);
  // `bounds` ascending, `counts` of values up to each bound and not up to the one before, then of those above all.
  void histogram(const std::vector<double>& bounds, const std::vector<std::int64_t>& counts, double sum);

  std::string text() const;  // the whole, with its end

 private:
  void line(std::string_view suffix, const Labels& labels, std::string_view value);
  std::string head() const;

  const TextFormat format_;
  std::string run_;
  Family family_;
  std::map<std::string, std::size_t, std::less<>> places_;  // of families, by name
  std::vector<std::string> texts_;                          // of each
};

}  // namespace troika::exporters
