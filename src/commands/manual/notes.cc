#include "commands/manual/notes.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace troika::commands {
namespace {

const Note config_yaml{
    "CONFIG.yaml",
    "Settings by section, as `troika train --print-config` prints them; a file of LLaMA-Factory is read too."};
const Note run_metrics{"RUN/metrics.jsonl", "A line for each step, each step once."};
const Note run_checkpoints{"RUN/checkpoints/step-00000060", "A checkpoint; it counts when its manifest.json stands."};
const Note run_timeline{"RUN/timeline", "The steps that --profile named."};
const Note machine_yaml{"$XDG_CONFIG_HOME/troika/machine.yaml, else ~/.config/troika/machine.yaml",
                        "What `troika probe` measured of this host; plans, sweeps and runs read it."};
const Note calibration_yaml{"calibration.yaml beside machine.yaml",
                            "What runs on this host have shown of those rates: they write it, plans and later runs "
                            "read it; a new probe begins it anew."};
const Note run_records{
    "RUN/state.json, RUN/events.jsonl, RUN/records, RUN/run.log",
    "What the run is, what happened to it, what each rank did, and what it told; for monitor, why and the page."};
const Note run_locks{"RUN/run.lock, RUN/launch.lock", "Held while a run and its launcher write in the folder."};
const Note run_settings{
    "RUN/config.yaml, RUN/program.txt",
    "The resolved settings and the step program of every rank; -2, -3, ... of later attempts that differ."};
const Note run_tokenizer{"RUN/tokenizer", "The tokenizer and the chat template that the run uses."};
const Note run_data{"RUN/data", "Prepared tokens, where the run was given text and no --data.cache."};
const Note run_logs{"RUN/logs/rank-00001.log", "Log and output of a rank; rank 0 writes to the terminal."};
const Note termination_log{"/dev/termination-log", "In a pod of Kubernetes: the cause of a failure."};
const Note server_addresses{"$XDG_RUNTIME_DIR/troika, else ~/.troika", "The addresses of servers that run, for --url."};
const Note temporary_files{"$TMPDIR, else /tmp", "Tokens of an evaluation without --data.cache, until it ends."};
const Note locale{"LC_ALL, LC_MESSAGES, LANG", "The language of the sentences where --lang is auto."};
const Note threads{"OMP_NUM_THREADS", "Threads of a rank where --train.threads does not say it."};

const std::vector<PageNotes>& all_notes() {
  static const std::vector<PageNotes> table = {
      {"troika",
       {{"troika demo", "Train a small model on text of this machine, in two layouts."},
        {"troika launch --nproc-per-node 3 -- train run.yaml --pp 3 --out runs/a",
         "Train with three processes as a pipeline."},
        {"troika generate runs/a --prompt 'Once upon'", "Continue a text with what was trained."}},
       {config_yaml,
        {"RUN", "The folder of a run, named by --out; all paths below are in it."},
        run_settings,
        run_metrics,
        run_checkpoints,
        run_tokenizer,
        run_data,
        run_logs,
        run_timeline,
        run_records,
        run_locks,
        machine_yaml,
        calibration_yaml,
        server_addresses,
        temporary_files,
        termination_log,
        {"/etc/troika/NAME.yaml, /etc/troika/NAME.env, /var/lib/troika/NAME",
         "Settings, variables and folder of a run that systemd starts as troika@NAME."}},
       {locale, threads},
       {}},
      {"demo",
       {{"troika demo", "About two minutes on two cores."},
        {"troika demo small --steps 70", "Seconds, in another folder."}},
       {{"DIR/tokenizer, DIR/tokens, DIR/run", "What it makes; the run is one like any other."}},
       {},
       {"train", "launch", "timeline", "generate"}},
      {"train",
       {{"troika train run.yaml --steps 100 --out runs/a", "Settings of a file; the command line counts before it."},
        {"troika launch --nproc-per-node 3 -- train run.yaml --pp 3 --out runs/a",
         "The same run as a pipeline of three stages; it resumes from the newest checkpoint."},
        {"troika train run.yaml --print-config", "What the settings are then, as YAML."}},
       {config_yaml,
        {"RUN", "The folder of --out."},
        run_settings,
        run_metrics,
        run_logs,
        run_checkpoints,
        run_tokenizer,
        run_timeline,
        run_data,
        run_records,
        run_locks,
        machine_yaml,
        calibration_yaml,
        termination_log},
       {{"RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT",
         "Which rank this is and where ranks meet, as torchrun sets them; set by hand they work too."},
        {"SLURM_*, OMPI_COMM_WORLD_*, PMI_*", "The same from srun and mpirun."}},
       {"launch", "plan", "eval", "generate", "export", "why"}},
      {"launch",
       {{"troika launch --nproc-per-node 2 -- train run.yaml --dp 2 --out runs/a",
         "Two ranks on this host, data-parallel."},
        {"troika launch --nnodes 2 --node-rank 0 --master-addr 10.0.0.1 --nproc-per-node 1 -- train run.yaml --pp 2 "
         "--out runs/a",
         "Host 0 of two; the other says --node-rank 1."}},
       {{"RUN/logs/rank-00001.log", "Output of a rank other than 0; RUN is the folder of the run."},
        run_records,
        run_locks,
        machine_yaml,
        calibration_yaml,
        termination_log},
       {{"TROIKA_SECRET", "The secret of the run's store, instead of --secret-file."},
        {"SLURM_NODEID", "The number of this host in a step of SLURM."}},
       {"train", "eval", "doctor", "monitor", "why"}},
      {"plan",
       {{"troika plan run.yaml --nproc 2", "The layouts of a training on two processes of this host."},
        {"troika plan --model.preset qwen3-8b --gpu h100 --gpus 64", "On 64 accelerators of a kind."},
        {"troika plan run.yaml --cluster pis.yaml --write best.yaml", "On machines of a file; the best as settings."}},
       {config_yaml, machine_yaml, calibration_yaml, run_timeline},
       {},
       {"probe", "sweep", "train"}},
      {"eval",
       {{"troika eval runs/a --data.valid held-out.txt", "The loss of a run's newest checkpoint."},
        {"troika launch --nproc-per-node 2 -- eval runs/a --data.valid held-out.txt --pp 2",
         "The same on two processes."}},
       {run_checkpoints, run_data, temporary_files},
       {},
       {"train", "launch", "generate"}},
      {"generate",
       {{"troika generate runs/a --prompt 'Once upon' --max-new-tokens 100", "Continue a text."},
        {"troika generate model --input prompts.jsonl --output answers.jsonl", "Continue each prompt of a file."}},
       {run_checkpoints},
       {},
       {"chat", "export"}},
      {"chat",
       {{"troika chat runs/a", "Talk with the newest checkpoint of a run."},
        {"troika chat model --input questions.jsonl --output answers.jsonl", "Answer each conversation of a file."}},
       {run_checkpoints},
       {},
       {"generate", "export"}},
      {"export",
       {{"troika export runs/a model", "The newest checkpoint as a Hugging Face folder."},
        {"troika export runs/lora model --merge", "An adapter added to its base."}},
       {run_checkpoints},
       {},
       {"train", "generate"}},
      {"bench",
       {{"troika bench step --model.preset bench-4m", "Steps of a small model beside an ideal step of this machine."},
        {"troika launch --nproc-per-node 2 -- bench comm", "Messages between two ranks by size."},
        {"troika bench roofline --model.preset qwen3-8b --device-rates h100",
         "What a step cannot take less than on a GPU."}},
       {},
       {threads},
       {"probe", "plan"}},
      {"probe",
       {{"troika probe", "Measure this host for plans that are made on it."},
        {"troika launch --nnodes 2 --node-rank 0 --master-addr 10.0.0.1 -- probe --out cluster.yaml",
         "A cluster; the same on each host with its --node-rank."}},
       {machine_yaml, calibration_yaml},
       {},
       {"plan", "sweep"}},
      {"sweep",
       {{"troika sweep run.yaml --nproc 2 --out runs/sweep", "Every layout of two processes."},
        {"troika sweep run.yaml --nproc 4 --best 5", "Only the five that the plan finds fastest."}},
       {{"DIR/summary.csv", "A row for each layout; DIR is the folder of --out."},
        config_yaml,
        machine_yaml,
        calibration_yaml},
       {},
       {"plan", "probe"}},
      {"data",
       {{"troika data tokenizer texts --vocab 4096 --out tokenizer", "Train a tokenizer on a folder of text."},
        {"troika data prepare texts --tokenizer tokenizer --out tokens", "Tokenize it into shards."},
        {"troika data inspect tokens --samples 2 --tokenizer tokenizer", "Look at two documents."}},
       {{"DIR/tokenizer.json", "A tokenizer, as Hugging Face's libraries read it; DIR is the folder of --out."}},
       {},
       {"train"}},
      {"monitor",
       {{"troika monitor runs/a", "Watch a run until q is pressed."},
        {"troika monitor runs/a --once", "One look, as lines."}},
       {run_metrics, run_records},
       {locale},
       {"serve", "why", "metrics"}},
      {"serve",
       {{"troika serve runs", "A page for the runs below a folder; it prints the address."},
        {"troika serve --url", "Print the addresses of your servers again."}},
       {run_metrics,
        run_records,
        {"RUN/launch.yaml, RUN/launch.log",
         "Of a run that the page has started: what its form said, and what its launcher says."},
        {"RUN/exports", "Checkpoints that the page has exported."},
        server_addresses},
       {},
       {"monitor", "train", "why"}},
      {"doctor",
       {{"troika doctor --quick", "This host, without measuring."},
        {"troika doctor run.yaml --hosts hosts.txt", "All hosts of a file, for a run with these settings."}},
       {config_yaml},
       {locale},
       {"launch", "why"}},
      {"why",
       {{"troika why runs/a", "Cause, evidence and what to change."},
        {"troika why runs/a --json", "The same for a program."}},
       {run_metrics, run_records, run_settings},
       {locale},
       {"monitor", "doctor", "timeline"}},
      {"timeline",
       {{"troika timeline runs/a", "The newest recorded step as a grid and a table."},
        {"troika timeline runs/a --step 20 --grid", "Step 20, the grid alone."}},
       {run_timeline},
       {},
       {"train", "plan", "why"}},
      {"metrics",
       {{"troika metrics runs/a --out a.csv", "The numbers of all steps as CSV."},
        {"troika metrics runs/a --tensorboard events", "For TensorBoard."}},
       {run_metrics, run_records},
       {},
       {"monitor", "launch"}},
      {"completion",
       {{"source <(troika completion bash)", "In this bash, without installing."}},
       {{"/usr/share/bash-completion/completions/troika, /usr/share/zsh/vendor-completions/_troika, "
         "/usr/share/fish/vendor_completions.d/troika.fish",
         "Where packages put the scripts."}},
       {},
       {"help", "manual"}},
      {"manual",
       {{"troika manual train | man -l -", "Read a page that is not installed."},
        {"troika manual --out share/man", "Write all pages."}},
       {{"DIR/man1", "Where --out writes."}},
       {},
       {"help", "completion"}},
      {"help", {{"troika help", "All verbs."}, {"troika help train", "Every setting."}}, {}, {}, {"manual"}},
      {"version", {{"troika version", "Print the version."}}, {}, {}, {"help"}},
  };
  return table;
}

}  // namespace

const PageNotes& notes_of(std::string_view page) {
  const auto found =
      std::find_if(all_notes().begin(), all_notes().end(), [&](const PageNotes& row) { return row.page == page; });
  if (found == all_notes().end())
    throw base::BugError("commands/manual/notes.cc has no row for '" + std::string(page) + "'");
  return *found;
}

}  // namespace troika::commands
