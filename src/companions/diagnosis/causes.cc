#include "diagnosis/causes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace troika::diagnosis {

const std::vector<Cause>& causes() {
  static const std::vector<Cause> rows = {
      {"none", base::Phrase("nothing is wrong with this run")},
      {"host_out_of_memory", base::Phrase("a host ran out of memory")},
      {"device_out_of_memory", base::Phrase("a GPU ran out of memory")},
      {"host_swapping", base::Phrase("a host swaps, and its steps take much longer")},
      {"plan_exceeds_memory",
       base::Phrase("the run needs more memory than there is, and was not started")},
      {"out_of_memory_while_saving", base::Phrase("memory ran out while a checkpoint was written")},
      {"job_memory_limit", base::Phrase("SLURM ended the job at its memory limit")},
      {"killed_from_outside",
       base::Phrase("the run was killed from outside: by a person, a scheduler or a time limit")},
      {"host_lost",
       base::Phrase("a host, or its launcher, is gone or cannot be reached")},
      {"bus_error", base::Phrase("a mapped file or shared memory could not be read")},
      {"terminal_closed",
       base::Phrase("the terminal or SSH connection that the run was started from closed")},
      {"wrong_processor", base::Phrase("the program was built for another processor")},
      {"crashed", base::Phrase("the program crashed")},
      {"port_in_use", base::Phrase("the port belongs to another program or launch")},
      {"wrong_secret", base::Phrase("the launches have different secrets")},
      {"wrong_address", base::Phrase("ranks meet at an address that not all of them can reach")},
      {"firewall", base::Phrase("a firewall refuses connections between the hosts")},
      {"ranks_missing", base::Phrase("some ranks or hosts did not come")},
      {"mtu_black_hole",
       base::Phrase("small messages pass between the hosts and large ones vanish")},
      {"link_lost", base::Phrase("no message passes between two hosts any more")},
      {"rank_hangs", base::Phrase("a rank stands still and the others wait for it")},
      {"slow_disk", base::Phrase("a disk does not keep up with the checkpoints")},
      {"data_preparation", base::Phrase("ranks wait while one prepares the data")},
      {"infiniband", base::Phrase("InfiniBand cannot be used")},
      {"too_many_open_files", base::Phrase("the limit of open files is reached")},
      {"disk_full", base::Phrase("a disk is full")},
      {"file_system_failed", base::Phrase("a file system failed under the run")},
      {"fp16_overflow", base::Phrase("fp16 overflows with any loss scale")},
      {"diverged", base::Phrase("the training diverged")},
      {"no_training_tokens", base::Phrase("no token of the data carries loss")},
      {"no_learning_signal", base::Phrase("the loss does not fall")},
      {"jump_after_resume", base::Phrase("the loss jumped when the run was resumed")},
      {"overfitting", base::Phrase("the model overfits: the validation loss rises")},
      {"communication_bound",
       base::Phrase("the ranks exchange messages for longer than they compute")},
      {"wrong_thread_count", base::Phrase("threads and cores do not match")},
      {"processor_throttled", base::Phrase("a processor slows itself down")},
      {"data_bound", base::Phrase("steps wait for data")},
      {"straggler",
       base::Phrase("one rank is slower than its like, and the others wait for it")},
      {"pipeline_bubble", base::Phrase("the pipeline stands idle: it has too few microbatches")},
      {"name_unknown", base::Phrase("the name of host 0 cannot be looked up")},
      {"ranks_differ", base::Phrase("the ranks were started differently")},
      {"duplicate_rank", base::Phrase("two processes or hosts have one number")},
      {"folder_in_use", base::Phrase("another run writes to the folder")},
      {"changed_bits", base::Phrase("memory or a processor changed the numbers of the run")},
      {"settings_refused", base::Phrase("a setting or flag was refused")},
      {"data_refused", base::Phrase("a file is missing, empty or damaged")},
      {"peer_lost", base::Phrase("a rank or the network failed")},
      {"internal_fault", base::Phrase("a fault of Troika itself")},
  };
  return rows;
}

base::Phrase sentence_of(std::string_view word) {
  const auto found =
      std::find_if(causes().begin(), causes().end(), [&](const Cause& cause) { return cause.word == word; });
  if (found == causes().end()) throw base::BugError(fmt::format("'{}' is no cause", word));
  return found->sentence;
}

}  // namespace troika::diagnosis
