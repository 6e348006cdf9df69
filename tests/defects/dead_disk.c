/* A disk that never answers: mounts FOLDER with one file, `file`, of 4096 bytes, which can be opened and never read. Who reads it
 * cannot be killed until this program ends. Needs root. Prints "ready" and runs until it is ended.
 *
 *   dead_disk FOLDER
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static int device;

static void answer(const struct fuse_in_header* in, int error, const void* body, size_t bytes) {
  char message[4096];
  struct fuse_out_header out = {(unsigned)(sizeof out + bytes), error, in->unique};
  memcpy(message, &out, sizeof out);
  if (bytes > 0) memcpy(message + sizeof out, body, bytes);
  if (write(device, message, sizeof out + bytes) < 0) perror("answer");
}

static struct fuse_attr attributes(unsigned long node) {
  struct fuse_attr attr;
  memset(&attr, 0, sizeof attr);
  attr.ino = node;
  attr.nlink = 1;
  attr.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0644;
  attr.size = node == FUSE_ROOT_ID ? 0 : 4096;
  attr.blksize = 4096;
  return attr;
}

static void serve(const struct fuse_in_header* in, const char* body) {
  if (in->opcode == FUSE_INIT) {
    const struct fuse_init_in* theirs = (const struct fuse_init_in*)body;
    struct fuse_init_out init;
    memset(&init, 0, sizeof init);
    init.major = FUSE_KERNEL_VERSION;
    init.minor = theirs->minor < FUSE_KERNEL_MINOR_VERSION ? theirs->minor : FUSE_KERNEL_MINOR_VERSION;
    init.max_write = 65536;
    answer(in, 0, &init, sizeof init);
  } else if (in->opcode == FUSE_GETATTR) {
    struct fuse_attr_out out;
    memset(&out, 0, sizeof out);
    out.attr_valid = 3600;
    out.attr = attributes(in->nodeid);
    answer(in, 0, &out, sizeof out);
  } else if (in->opcode == FUSE_LOOKUP && strcmp(body, "file") == 0) {
    struct fuse_entry_out out;
    memset(&out, 0, sizeof out);
    out.nodeid = 2;
    out.entry_valid = out.attr_valid = 3600;
    out.attr = attributes(2);
    answer(in, 0, &out, sizeof out);
  } else if (in->opcode == FUSE_OPEN || in->opcode == FUSE_OPENDIR) {
    struct fuse_open_out out;
    memset(&out, 0, sizeof out);
    out.fh = 1;
    answer(in, 0, &out, sizeof out);
  } else if (in->opcode == FUSE_READ) {
    /* never */
  } else if (in->opcode != FUSE_FORGET && in->opcode != FUSE_BATCH_FORGET && in->opcode != FUSE_INTERRUPT) {
    answer(in, in->opcode == FUSE_LOOKUP ? -ENOENT : -ENOSYS, 0, 0);
  }
}

int main(int count, char** words) {
  static char buffer[1 << 18];
  char options[128];
  if (count != 2 || (device = open("/dev/fuse", O_RDWR | O_CLOEXEC)) < 0) return 2;
  snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
  if (mount("dead", words[1], "fuse", MS_NOSUID | MS_NODEV, options) != 0) {
    perror("mount");
    return 2;
  }
  puts("ready");
  fflush(stdout);
  for (;;) {
    const ssize_t bytes = read(device, buffer, sizeof buffer);
    if (bytes < 0 && errno == ENODEV) return 0;
    if (bytes >= (ssize_t)sizeof(struct fuse_in_header))
      serve((const struct fuse_in_header*)buffer, buffer + sizeof(struct fuse_in_header));
  }
}
