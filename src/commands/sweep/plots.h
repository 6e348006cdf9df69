// A sweep as pictures, by gnuplot: FOLDER/plots.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "commands/launch/signals.h"
#include "commands/sweep/measured.h"
#include "commands/sweep/row.h"

namespace troika::commands {

struct SweepPlots {
  std::vector<std::string> svgs;  // as written, one after the other; none where nothing was drawn
  std::string note;               // why nothing was drawn, and what to do; "" where it was
};

// Writes FOLDER/plots: layouts.dat, plots.gp, and of throughput, memory and shares a .png and a .svg each, of the fastest 40
// layouts that were measured. gnuplot is looked for in PATH; what it reads is in files that name no command.
SweepPlots draw_plots(const std::string& folder, const SweepRows& rows, const SweepStep& step,
                      const std::map<std::string, std::string>& environment, Signals& signals);

// The lines of layouts.dat: number, "name", positions/s, the same predicted, MiB, the same predicted, and compute, communication
// and bubble in percent.
std::string plot_data(const SweepRows& measured, const SweepStep& step);
// A text between double quotes of a data file.
std::string gnuplot_text(const std::string& text);
// For gnuplot -c: its one argument is the folder with layouts.dat.
std::string plot_script(const SweepRows& measured, const SweepStep& step);

}  // namespace troika::commands
