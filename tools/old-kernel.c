// Runs a command as on Linux 4.18: system calls that came later answer ENOSYS, also in every process that the command starts.
//   old-kernel COMMAND ARGUMENTS...
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int count, char** arguments) {
  // Numbers from 424 on are the same on every architecture; the first of them, pidfd_send_signal, came with 5.1. The ones between
  // 4.18 and that: io_pgetevents and rseq are in 4.18 itself.
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 424, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (count < 2) return fprintf(stderr, "usage: old-kernel COMMAND ARGUMENTS...\n"), 2;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    return perror("old-kernel"), 2;
  if (syscall(434, getpid(), 0) != -1 || errno != ENOSYS) return fprintf(stderr, "old-kernel: pidfd_open is still there\n"), 2;
  execvp(arguments[1], arguments + 1);
  return perror(arguments[1]), 2;
}
