#include "commands/sweep/plots.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "commands/sweep/one_run.h"

namespace troika::commands {
namespace {

constexpr std::size_t most_bars = 40;
constexpr double drawing_seconds = 120;
constexpr const char* pictures[] = {"throughput", "memory", "shares"};

SweepRows fastest_measured(const SweepRows& rows) {
  SweepRows ordered = best_first(rows);
  const auto end = std::find_if(ordered.begin(), ordered.end(), [](const SweepRow& row) { return !row.measured; });
  ordered.erase(end, ordered.end());
  if (ordered.size() > most_bars) ordered.resize(most_bars);
  return ordered;
}

std::string program_in_path(const std::string& name, const std::map<std::string, std::string>& environment) {
  const auto path = environment.find("PATH");
  if (path == environment.end()) return "";
  for (const std::string& folder : base::split(path->second, ':')) {
    const std::string program = folder + "/" + name;
    if (!folder.empty() && base::file_exists(program) && ::access(program.c_str(), X_OK) == 0) return program;
  }
  return "";
}

constexpr const char* script_head = R"(# gnuplot -c plots.gp FOLDER, which begins with / or ./
data = ARG1."/layouts.dat"
set encoding utf8
set style fill solid 1.0 noborder
set grid xtics linecolor rgb "#dddddd"
set border 3 linecolor rgb "#888888"
set tics nomirror textcolor rgb "#333333"
set ytics scale 0
)";

// The names have the room left of the bars, title and key one line above them.
constexpr const char* script_frame = R"(set yrange [{last}.5:-0.5]
set lmargin at screen {left}.0/{width}
set rmargin at screen 1-28.0/{width}
set tmargin at screen 1-46.0/{height}
set bmargin at screen 34.0/{height}
set key at screen 0.99, screen 1-20.0/{height} right center horizontal Left reverse samplen 2 maxrows 1 textcolor rgb "#333333"
)";
constexpr const char* script_title =
    "set label 1 \"{title}\" at screen 10.0/{width}, screen 1-20.0/{height} left font large\n";

// Two bars for each layout, with their values.
constexpr const char* pair_of_bars = R"(set xrange [0:{most:.9g}]
plot data using {a}:0:(0):{a}:($0-0.36):($0-0.02):ytic(2) with boxxyerror linecolor rgb "#1f77b4" title "measured", \
     data using {b}:0:(0):{b}:($0+0.02):($0+0.36) with boxxyerror linecolor rgb "#bbbbbb" title "predicted", \
     data using {a}:($0-0.19):(sprintf("{format}", ${a})) with labels left offset 0.5,0 font small notitle, \
     data using {b}:($0+0.19):(sprintf("{format}", ${b})) with labels left offset 0.5,0 font small notitle
)";

constexpr const char* stacked_shares = R"(set xrange [0:100]
plot data using 7:0:(0):7:($0-0.36):($0+0.36):ytic(2) with boxxyerror linecolor rgb "#1f77b4" title "compute", \
     data using 7:0:7:($7+$8):($0-0.36):($0+0.36) with boxxyerror linecolor rgb "#ff7f0e" title "communication", \
     data using 7:0:($7+$8):($7+$8+$9):($0-0.36):($0+0.36) with boxxyerror linecolor rgb "#cccccc" title "bubble"
)";

struct Canvas {
  std::size_t left, width, height;  // pixels; `left` of the names
};

// A character of the font is about 7.4 pixels wide.
Canvas canvas_for(const SweepRows& measured) {
  std::size_t longest = 20;
  for (const SweepRow& row : measured) longest = std::max(longest, gnuplot_text(planner::name_of(row.layout)).size());
  const std::size_t left = 24 + longest * 74 / 10;
  return {left, left + 560, 80 + 46 * measured.size()};
}

struct Picture {
  const char *terminal, *ending;
  int font, small, large;  // points of the one, pixels of the other
};

double mebibytes(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

struct Bars {
  double measured, predicted;
};

Bars throughput_of(const SweepRow& row, const SweepStep& step) {
  return {row.measured->tokens_per_second,
          row.predicted.step_seconds > 0 ? static_cast<double>(step.tokens) / row.predicted.step_seconds : 0};
}

Bars memory_of(const SweepRow& row) {
  return {mebibytes(row.measured->memory_bytes), mebibytes(row.predicted.memory_bytes)};
}

}  // namespace

std::string gnuplot_text(const std::string& text) {
  std::string safe = base::printable(text, 200);
  for (char& c : safe) {
    if (c == '"') c = '\'';
    if (c == '\\') c = '/';
    if (c == '\n') c = ' ';
  }
  return safe;
}

std::string plot_data(const SweepRows& measured, const SweepStep& step) {
  std::string text = "# number, name, positions/s, predicted, MiB, predicted, compute %, communication %, bubble %\n";
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const SweepRow& row = measured[i];
    const Bars speed = throughput_of(row, step), memory = memory_of(row);
    const double communication = 100 * row.measured->communication_share, bubble = 100 * row.measured->bubble_share;
    text += fmt::format("{} \"{}\" {:.6g} {:.6g} {:.6g} {:.6g} {:.4f} {:.4f} {:.4f}\n", i + 1,
                        gnuplot_text(planner::name_of(row.layout)), speed.measured, speed.predicted, memory.measured,
                        memory.predicted, std::max(0.0, 100 - communication - bubble), communication, bubble);
  }
  return text;
}

static double most_of(const SweepRows& rows, Bars (*of)(const SweepRow&, const SweepStep&), const SweepStep& step) {
  double most = 1e-9;
  for (const SweepRow& row : rows) most = std::max({most, of(row, step).measured, of(row, step).predicted});
  return 1.15 * most;  // room for the numbers
}

std::string plot_script(const SweepRows& measured, const SweepStep& step) {
  const Canvas canvas = canvas_for(measured);
  const auto memory = [](const SweepRow& row, const SweepStep&) { return memory_of(row); };
  const std::string plots[] = {fmt::format(pair_of_bars, fmt::arg("most", most_of(measured, throughput_of, step)),
                                           fmt::arg("a", 3), fmt::arg("b", 4), fmt::arg("format", "%.0f")),
                               fmt::format(pair_of_bars, fmt::arg("most", most_of(measured, memory, step)),
                                           fmt::arg("a", 5), fmt::arg("b", 6), fmt::arg("format", "%.1f")),
                               stacked_shares};
  const char* const titles[] = {"Tokens per second", "Memory of a rank, MiB", "Where a step's time went, %"};
  std::string text =
      script_head + fmt::format(script_frame, fmt::arg("last", measured.size() - 1), fmt::arg("left", canvas.left),
                                fmt::arg("width", canvas.width), fmt::arg("height", canvas.height));
  for (std::size_t i = 0; i < 3; ++i) {
    for (const Picture& picture : {Picture{"pngcairo", "png", 11, 9, 13}, Picture{"svg", "svg", 14, 12, 17}}) {
      text += fmt::format(
          "\nset terminal {} noenhanced size {},{} font \"sans-serif,{}\" background rgb \"white\"\n"
          "small = \",{}\"\nlarge = \",{}\"\nset output ARG1.\"/{}.{}\"\n",
          picture.terminal, canvas.width, canvas.height, picture.font, picture.small, picture.large, pictures[i],
          picture.ending);
      text += fmt::format(script_title, fmt::arg("title", titles[i]), fmt::arg("width", canvas.width),
                          fmt::arg("height", canvas.height));
      text += plots[i] + "unset output\n";
    }
  }
  return text;
}

SweepPlots draw_plots(const std::string& folder, const SweepRows& rows, const SweepStep& step,
                      const std::map<std::string, std::string>& environment, Signals& signals) {
  const SweepRows measured = fastest_measured(rows);
  if (measured.empty()) return {{}, "no layout was measured, so there is nothing to plot"};
  // Absolute: gnuplot takes a name that begins with < or | for a command.
  const std::string plots = std::filesystem::absolute(folder + "/plots").string();
  base::make_directories(plots);
  base::write_file_atomic(plots + "/layouts.dat", plot_data(measured, step));
  base::write_file_atomic(plots + "/plots.gp", plot_script(measured, step));
  const std::string program = program_in_path("gnuplot", environment);
  if (program.empty()) {
    return {{}, "no plots, as gnuplot is not installed: apt-get install gnuplot-nox, then the same command again"};
  }
  const std::string log = plots + "/gnuplot.log";
  base::write_file_atomic(log, "");
  const OneRunEnd end = run_one(
      {program, {"gnuplot", "--default-settings", "-c", plots + "/plots.gp", plots}, environment, log, drawing_seconds},
      signals, [](double) { return RunGoes::on; });
  if (end.exit_code != 0 || end.signal != 0 || end.cause != OneRunEnd::Cause::by_itself)
    return {{}, fmt::format("no plots, as gnuplot failed; {} has what it said", log)};
  SweepPlots drawn;
  for (const char* name : pictures) drawn.svgs.push_back(base::read_file(fmt::format("{}/{}.svg", plots, name)));
  return drawn;
}

}  // namespace troika::commands
