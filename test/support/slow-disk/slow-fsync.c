#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

/* Loaded before libc: every fdatasync takes FSYNC_DELAY_MS longer, as on a disk that others use. */
int fdatasync(int fd) {
  static int (*real)(int);
  const char *delay = getenv("FSYNC_DELAY_MS");
  if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  if (delay) usleep((useconds_t)atoi(delay) * 1000);
  return real(fd);
}
